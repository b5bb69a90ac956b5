ALTER TABLE "beats" ADD COLUMN "at" timestamp with time zone;--> statement-breakpoint
UPDATE "beats" SET "at" = "through";--> statement-breakpoint
ALTER TABLE "beats" ALTER COLUMN "at" SET NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_message" ON "outbox" USING btree ("channel_id","message_id");