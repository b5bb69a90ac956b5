import { z } from '@hono/zod-openapi';

// Of a report and its numbers, as schemas.ts is of everything else: what the document says.

const instant = z.string().meta({ format: 'date-time', example: '2026-10-31T23:00:00Z' });
const every = z.enum(['week', 'month']).describe('ISO weeks, which begin on Monday, or months.');
const zone = z
  .string()
  .meta({ description: 'Weeks and months begin at midnight here. No default.', example: 'Europe/Berlin' });
const periodName = z.string().meta({ description: 'A week or a month.', example: '2026-W53' });

export const reportDefinitionSchema = z
  .strictObject({
    every,
    zone,
    channels: z.array(z.string()).min(1).describe('E-mail channels of the project.'),
    tags: z.array(z.string()).nullable().optional().describe('Only jobs with one of these; left out or null: all.'),
  })
  .openapi('ReportDefinition');

export const reportSchema = z
  .strictObject({
    slug: z.string(),
    every,
    zone,
    channels: z.array(z.string()),
    tags: z.array(z.string()).nullable(),
    created_at: instant,
    sent_until: instant.describe(
      'The end of the last period that was sent, or that was over when the report was made.',
    ),
    next: z
      .strictObject({ period: periodName, due_at: instant })
      .nullable()
      .describe('Of the period in course, and when it is made at the earliest.'),
    warnings: z.array(z.string()).describe('Channels that are gone, or are no e-mail channels any more.'),
  })
  .openapi('Report');

export const sentReportSchema = z
  .strictObject({ period: periodName, channels: z.array(z.string()).describe('To which it is on its way.') })
  .openapi('SentReport');

const tally = z
  .strictObject({
    due: z.int(),
    on_time: z.int(),
    late: z.int(),
    expired: z.int(),
    failed: z.int(),
    missed: z.int(),
    overdue: z.int().describe('Past the deadline, and still not completed.'),
    coalesced: z.int().describe('Nobody ran it on time; a later run covered it.'),
    skipped: z.int(),
    unknown: z.int(),
    pending: z.int().describe('The deadline has not passed yet.'),
    counted: z.int().describe('due without skipped, unknown and pending.'),
    on_time_share: z.number().nullable().describe('on_time / counted; null: nothing counts.'),
  })
  .openapi('Tally');

const period = {
  name: periodName,
  starts_at: instant.describe('The first instant inside.'),
  ends_at: instant.describe('The first instant after it.'),
};

export const reportNumbersSchema = z
  .strictObject({
    slug: z.string(),
    project: z.strictObject({ slug: z.string(), name: z.string() }),
    every,
    zone,
    tags: z.array(z.string()).nullable(),
    period: z.strictObject({ ...period, is_complete: z.boolean() }),
    as_of: instant.describe('The ledger as it stood then.'),
    occurrences: tally,
    before: z
      .strictObject({
        name: periodName,
        occurrences: z.union([tally, z.null()]).describe('null: there was no job yet.'),
      })
      .nullable(),
    jobs: z.strictObject({
      total: z.int(),
      in_trouble: z.int().describe('With something that was not on time.'),
      well: z.int(),
      without_data: z.int().describe('Nothing of them counts.'),
    }),
    worst_jobs: z
      .array(
        z.strictObject({
          job: z.string(),
          name: z.string(),
          since: instant.nullable().describe('It was made within the period, and counts from then.'),
          occurrences: tally,
        }),
      )
      .describe('The lowest share first, at most 10.'),
    owed: z
      .array(
        z.strictObject({
          job: z.string(),
          count: z.int(),
          oldest: z.string().nullable().describe('The key of the oldest.'),
          unconfirmed: z.int().describe('Nobody knows whether they ran.'),
          needs_decision: z.boolean().describe('A backlog: nothing is handed out before a person says run or skip.'),
          is_paused: z.boolean(),
        }),
      )
      .describe('What is owed as of now, at most 100 jobs.'),
    owed_jobs: z.int(),
    schedule_edits: z
      .array(z.strictObject({ job: z.string(), at: instant, actor: z.string(), changes: z.array(z.string()) }))
      .describe('Within the period, oldest first, at most 50.'),
    schedule_edit_count: z.int(),
    incidents: z.strictObject({
      opened: z.record(z.string(), z.int()).describe('Within the period, by kind.'),
      still_open: z.int(),
      longest: z
        .strictObject({
          id: z.int(),
          job: z.string(),
          kind: z.string(),
          opened_at: instant,
          resolved_at: instant.nullable(),
          seconds: z.int(),
        })
        .nullable(),
    }),
    clock_changes: z
      .array(
        z.strictObject({
          zone: z.string(),
          at: instant,
          shift_seconds: z.int().describe('Forward; negative: back.'),
          from: z.string().describe('What the local clock shows then.'),
          to: z.string().describe('What it shows instead.'),
          jobs: z.int(),
          touched: z.array(z.strictObject({ job: z.string(), effects: z.array(z.string()) })),
        }),
      )
      .describe('Within 35 days from now.'),
    unreported: z
      .strictObject({ count: z.int(), first: periodName, last: periodName })
      .nullable()
      .describe('Of a report that was sent: earlier periods that none was sent about.'),
  })
  .openapi('ReportNumbers');
