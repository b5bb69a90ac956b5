CREATE TABLE "claims" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "claims_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"scheduled_for" timestamp with time zone NOT NULL,
	"rid" uuid NOT NULL,
	"run_id" bigint NOT NULL,
	"claimed_at" timestamp with time zone NOT NULL,
	"lease_until" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"outcome" text,
	CONSTRAINT "claims_rid" UNIQUE("job_id","rid")
);
--> statement-breakpoint
CREATE TABLE "zone_tables" (
	"tz_version" text NOT NULL,
	"zone" text NOT NULL,
	"zone_table" jsonb NOT NULL,
	CONSTRAINT "zone_tables_tz_version_zone_pk" PRIMARY KEY("tz_version","zone")
);
--> statement-breakpoint
ALTER TABLE "blind_windows" ADD COLUMN "cause" text DEFAULT 'silent' NOT NULL;--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "backlog" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "decided_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "last_hand_out" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "occurrences" ADD COLUMN "confirmed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "claims" ADD CONSTRAINT "claims_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "claims" ADD CONSTRAINT "claims_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "claims_run" ON "claims" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "occurrences_unconfirmed" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."state" = 'unknown' and not "occurrences"."confirmed";--> statement-breakpoint
UPDATE "jobs" SET "definition" = "definition" || '{"maxCatchUp": null, "throttle": null, "overlap": "forbid"}'::jsonb;