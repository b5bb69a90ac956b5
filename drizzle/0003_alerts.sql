CREATE TABLE "maintenance_windows" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "maintenance_windows_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"definition" jsonb NOT NULL,
	"actor" text NOT NULL,
	"known_from" timestamp with time zone NOT NULL,
	"known_until" timestamp with time zone,
	"fetched_at" timestamp with time zone,
	"fetch_failure" text
);
--> statement-breakpoint
CREATE TABLE "reports" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "reports_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"definition" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"sent_until" timestamp with time zone NOT NULL,
	CONSTRAINT "reports_project_slug" UNIQUE("project_id","slug")
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "remind_every" integer;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "route_kinds" text[];--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "route_tags" text[];--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "acked_by" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "snoozed_by" text;--> statement-breakpoint
ALTER TABLE "occurrences" ADD COLUMN "counted" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "occurrences" ADD COLUMN "blocked_on" bigint;--> statement-breakpoint
ALTER TABLE "occurrences" ADD COLUMN "blocked_for" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD CONSTRAINT "maintenance_windows_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reports" ADD CONSTRAINT "reports_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_current" ON "maintenance_windows" USING btree ("project_id","slug") WHERE "maintenance_windows"."known_until" is null;--> statement-breakpoint
CREATE INDEX "maintenance_project" ON "maintenance_windows" USING btree ("project_id","known_from");--> statement-breakpoint
CREATE INDEX "occurrences_counted" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."counted" <> 0;--> statement-breakpoint
CREATE INDEX "occurrences_blocked" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."blocked_on" is not null;--> statement-breakpoint
UPDATE "jobs" SET "definition" = "definition" || '{"alertAfter": {}, "after": []}'::jsonb;