import { z } from '@hono/zod-openapi';
import { WEEKDAYS } from '../../core/maintenance.ts';
import { LIMITS } from './definition.ts';
import { WINDOW_LIMITS } from './maintenance-definition.ts';

const instant = z.string().meta({ format: 'date-time', description: 'RFC 3339', example: '2026-10-25T00:30:00Z' });
const duration = z
  .union([z.string(), z.int().min(1)])
  .meta({ description: 'A duration: "90s", "10m", "6h", "2d", ISO 8601, or whole seconds', example: '2h' });
const days = z.array(z.enum(WEEKDAYS)).min(1).max(7);
const start = z.string().meta({ description: 'Local time', example: '22:00' });

/** The body of PUT /maintenance/{slug}. */
export const windowRequestSchema = z
  .strictObject({
    name: z.string().max(LIMITS.name).optional().describe('Defaults to the slug.'),
    reason: z
      .string()
      .max(LIMITS.reason)
      .optional()
      .describe('Becomes the note of what is skipped, with the name and who.'),
    jobs: z.array(z.string()).min(1).max(WINDOW_LIMITS.jobs).nullable().optional().describe('Slugs.'),
    tags: z
      .array(z.string())
      .min(1)
      .max(WINDOW_LIMITS.tags)
      .nullable()
      .optional()
      .describe('A job is in the window by its slug or one of its tags; without both, every job of the project is.'),
    from: instant
      .nullable()
      .optional()
      .describe('Once: inside. Left out: now, or as it was while the window is under way.'),
    until: instant.nullable().optional().describe('Once: outside. Or write duration.'),
    duration: duration.nullable().optional().describe('Once, instead of until; with cron: elapsed time.'),
    weekly: z
      .array(z.strictObject({ days, start, duration }))
      .min(1)
      .max(WINDOW_LIMITS.weekly)
      .nullable()
      .optional()
      .describe('Every week, in local time of zone; durations are elapsed time.'),
    cron: z.string().nullable().optional().describe('Begins whenever this is due in zone.'),
    ics: z
      .string()
      .nullable()
      .optional()
      .describe('The text of an .ics file, at most 1 MB: its events are the window.'),
    ics_url: z.string().nullable().optional().describe('An https URL of an .ics file, read now and once a day.'),
    zone: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'With all but from and until.', example: 'Europe/Berlin' }),
  })
  .openapi('WindowDefinition');

const stretch = z.strictObject({ from: instant, until: instant });

/** A window as it is answered. */
export const windowSchema = z
  .strictObject({
    slug: z.string(),
    name: z.string(),
    reason: z.string(),
    jobs: z.array(z.string()).nullable(),
    tags: z.array(z.string()).nullable(),
    from: instant.nullable(),
    until: instant.nullable(),
    duration: z.string().nullable(),
    weekly: z.array(z.strictObject({ days, start, duration: z.string() })).nullable(),
    cron: z.string().nullable(),
    ics: z.string().nullable().optional().describe('Not in the list.'),
    ics_url: z.string().nullable(),
    zone: z.string().nullable(),
    active: z.boolean().describe('The window holds now.'),
    next: stretch
      .nullable()
      .describe('The stretch that is under way, or else the next one: from is inside, until is not.'),
    changed_at: instant,
    changed_by: z.string(),
    events: z.int().nullable().describe('Of a calendar: how many it has.'),
    fetched_at: instant.nullable().describe('When ics_url was read last.'),
    fetch_failure: z.string().nullable().describe('Why it could not be read since; what was known still holds.'),
    jobs_left: z.int().describe('Jobs of which the past is still being looked through; 0: all is done.'),
  })
  .openapi('Window');
