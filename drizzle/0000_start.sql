CREATE TABLE "attempts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "attempts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" bigint NOT NULL,
	"message_id" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"outcome" text NOT NULL,
	"reason" text,
	"rows" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "beats" (
	"replica" uuid PRIMARY KEY NOT NULL,
	"through" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "blind_windows" (
	"after" timestamp with time zone PRIMARY KEY NOT NULL,
	"until" timestamp with time zone NOT NULL,
	"kind" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channels" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "channels_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"kind" text NOT NULL,
	"settings" jsonb NOT NULL,
	"operator" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"dead_since" timestamp with time zone,
	"last_failure" text,
	CONSTRAINT "channels_project_slug" UNIQUE("project_id","slug")
);
--> statement-breakpoint
CREATE TABLE "cursors" (
	"job_id" bigint PRIMARY KEY NOT NULL,
	"version" integer NOT NULL,
	"next_unrecorded" timestamp with time zone,
	"open_incidents" integer DEFAULT 0 NOT NULL,
	"next_check_at" timestamp with time zone,
	"deferred" integer DEFAULT 0 NOT NULL,
	"failures" smallint DEFAULT 0 NOT NULL,
	"retry_at" timestamp with time zone,
	"constant_rid" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "facts" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "incident_occurrences" (
	"incident_id" bigint NOT NULL,
	"scheduled_for" timestamp with time zone NOT NULL,
	"moved" boolean DEFAULT false NOT NULL,
	CONSTRAINT "incident_occurrences_incident_id_scheduled_for_pk" PRIMARY KEY("incident_id","scheduled_for")
);
--> statement-breakpoint
CREATE TABLE "incidents" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "incidents_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"acked_at" timestamp with time zone,
	"snoozed_until" timestamp with time zone,
	"resolved_at" timestamp with time zone,
	"silent" boolean DEFAULT false NOT NULL,
	"events" integer NOT NULL,
	"last_told" timestamp with time zone,
	"last_run_at" timestamp with time zone,
	"occurrence_count" integer NOT NULL,
	"troubled_count" integer NOT NULL,
	"detail" text
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "jobs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"uuid" uuid NOT NULL,
	"slug" text NOT NULL,
	"definition" jsonb NOT NULL,
	"unreviewed" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"settings_since" timestamp with time zone NOT NULL,
	"paused_at" timestamp with time zone,
	CONSTRAINT "jobs_uuid_unique" UNIQUE("uuid"),
	CONSTRAINT "jobs_project_slug" UNIQUE("project_id","slug")
);
--> statement-breakpoint
CREATE TABLE "keys" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone,
	CONSTRAINT "keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "notice_occurrences" (
	"notice_id" bigint NOT NULL,
	"job_id" bigint NOT NULL,
	"scheduled_for" timestamp with time zone NOT NULL,
	CONSTRAINT "notice_occurrences_notice_id_job_id_scheduled_for_pk" PRIMARY KEY("notice_id","job_id","scheduled_for")
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "notices_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"text" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "notices_subject_unique" UNIQUE("subject")
);
--> statement-breakpoint
CREATE TABLE "occurrences" (
	"job_id" bigint NOT NULL,
	"scheduled_for" timestamp with time zone NOT NULL,
	"version" integer NOT NULL,
	"state" text NOT NULL,
	"reason" text,
	"settled_at" timestamp with time zone,
	"stands_for" smallint DEFAULT 1 NOT NULL,
	"completions" integer DEFAULT 0 NOT NULL,
	"started_at" timestamp with time zone,
	"completed_at" timestamp with time zone,
	"duration_ms" bigint,
	"completed_by" bigint,
	"covered_by" timestamp with time zone,
	"matched_by" text,
	"wanted" boolean DEFAULT false NOT NULL,
	"incident_id" bigint,
	"doubled" boolean DEFAULT false NOT NULL,
	"check_at" timestamp with time zone,
	"note" text,
	CONSTRAINT "occurrences_job_id_scheduled_for_pk" PRIMARY KEY("job_id","scheduled_for"),
	CONSTRAINT "whole_seconds" CHECK (date_trunc('second', "occurrences"."scheduled_for") = "occurrences"."scheduled_for")
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "outbox_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"channel_id" bigint NOT NULL,
	"incident_id" bigint,
	"event" integer,
	"notice_id" bigint,
	"payload" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"reason" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"not_before" timestamp with time zone NOT NULL,
	"lease" uuid,
	"lease_until" timestamp with time zone,
	"message_id" text,
	"delivered_at" timestamp with time zone,
	CONSTRAINT "outbox_incident" UNIQUE("incident_id","event","channel_id"),
	CONSTRAINT "outbox_notice" UNIQUE("notice_id","channel_id")
);
--> statement-breakpoint
CREATE TABLE "pauses" (
	"job_id" bigint NOT NULL,
	"after" timestamp with time zone NOT NULL,
	"until" timestamp with time zone,
	CONSTRAINT "pauses_job_id_after_pk" PRIMARY KEY("job_id","after")
);
--> statement-breakpoint
CREATE TABLE "pings" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pings_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"exit_code" integer,
	"rid" text,
	"thread" text NOT NULL,
	"fingerprint" text NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"own_at" timestamp with time zone,
	"occ" text,
	"scheduled_for" timestamp with time zone,
	"matched_by" text NOT NULL,
	"counted" boolean NOT NULL,
	"run_id" bigint,
	"duration_ms" bigint,
	"source" text,
	"user_agent" text,
	"method" text NOT NULL,
	"notes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"body" "bytea",
	"body_bytes" integer DEFAULT 0 NOT NULL,
	"truncated" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "projects_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "projects_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "runs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"thread" text NOT NULL,
	"rid" uuid,
	"scheduled_for" timestamp with time zone,
	"started_at" timestamp with time zone,
	"superseded_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"verdict" text,
	"exit_code" smallint,
	"duration_ms" bigint,
	"heard_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "schedule_versions" (
	"job_id" bigint NOT NULL,
	"number" integer NOT NULL,
	"zone" text NOT NULL,
	"schedules" jsonb NOT NULL,
	"starts_after" timestamp with time zone NOT NULL,
	"ends_at" timestamp with time zone,
	"tz_version" text NOT NULL,
	CONSTRAINT "schedule_versions_job_id_number_pk" PRIMARY KEY("job_id","number")
);
--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cursors" ADD CONSTRAINT "cursors_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incident_occurrences" ADD CONSTRAINT "incident_occurrences_incident_id_incidents_id_fk" FOREIGN KEY ("incident_id") REFERENCES "public"."incidents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "keys" ADD CONSTRAINT "keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notice_occurrences" ADD CONSTRAINT "notice_occurrences_notice_id_notices_id_fk" FOREIGN KEY ("notice_id") REFERENCES "public"."notices"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notice_occurrences" ADD CONSTRAINT "notice_occurrences_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "occurrences" ADD CONSTRAINT "occurrences_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_incident_id_incidents_id_fk" FOREIGN KEY ("incident_id") REFERENCES "public"."incidents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_notice_id_notices_id_fk" FOREIGN KEY ("notice_id") REFERENCES "public"."notices"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pauses" ADD CONSTRAINT "pauses_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pings" ADD CONSTRAINT "pings_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runs" ADD CONSTRAINT "runs_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "schedule_versions" ADD CONSTRAINT "schedule_versions_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "attempts_channel" ON "attempts" USING btree ("channel_id","id");--> statement-breakpoint
CREATE INDEX "audit_project" ON "audit" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "cursors_due" ON "cursors" USING btree ("next_check_at");--> statement-breakpoint
CREATE UNIQUE INDEX "incidents_open" ON "incidents" USING btree ("job_id","kind") WHERE "incidents"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "incidents_job" ON "incidents" USING btree ("job_id","id");--> statement-breakpoint
CREATE INDEX "occurrences_check" ON "occurrences" USING btree ("job_id","check_at","scheduled_for") WHERE "occurrences"."check_at" is not null;--> statement-breakpoint
CREATE INDEX "occurrences_wanted" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."wanted";--> statement-breakpoint
CREATE INDEX "occurrences_uncovered" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."covered_by" is null and "occurrences"."state" in ('coalesced', 'failed', 'missed', 'unknown');--> statement-breakpoint
CREATE INDEX "occurrences_open" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."state" in ('expected', 'running', 'overdue');--> statement-breakpoint
CREATE INDEX "occurrences_settled" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."state" in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced');--> statement-breakpoint
CREATE INDEX "occurrences_well" ON "occurrences" USING btree ("job_id","scheduled_for") WHERE "occurrences"."state" in ('on_time', 'late');--> statement-breakpoint
CREATE INDEX "outbox_waiting" ON "outbox" USING btree ("channel_id","id") WHERE "outbox"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "pings_job" ON "pings" USING btree ("job_id","id");--> statement-breakpoint
CREATE INDEX "pings_thread" ON "pings" USING btree ("job_id","thread","id") WHERE "pings"."counted";--> statement-breakpoint
CREATE INDEX "pings_deferred" ON "pings" USING btree ("job_id","id") WHERE "pings"."matched_by" = 'deferred';--> statement-breakpoint
CREATE INDEX "runs_thread" ON "runs" USING btree ("job_id","thread","id");--> statement-breakpoint
CREATE INDEX "runs_occurrence" ON "runs" USING btree ("job_id","scheduled_for");--> statement-breakpoint
CREATE INDEX "runs_open" ON "runs" USING btree ("job_id","started_at") WHERE "runs"."ended_at" is null;