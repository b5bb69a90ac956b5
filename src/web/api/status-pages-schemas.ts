import { z } from '@hono/zod-openapi';
import { LIMITS } from './definition.ts';

/** Limits of a status page, in characters and pieces. */
export const STATUS_LIMITS = {
  title: 200,
  text: 2000,
  groups: 50,
  group: 100,
  jobs: 200,
  password: { least: 8, most: 128 },
} as const;

const instant = z.string().meta({ format: 'date-time', example: '2026-10-31T23:00:00Z' });
const title = z.string().max(STATUS_LIMITS.title).meta({ example: 'Nightly jobs' });
const zone = z.string().meta({ description: 'Times are shown in it. No default.', example: 'Europe/Berlin' });
const groupName = z.string().max(STATUS_LIMITS.group);
const namedJob = <N extends z.ZodType>(name: N) =>
  z.strictObject({ job: z.string().describe('A slug of the project.'), name });
const publicName = z.string().max(LIMITS.name).nullable();
const tag = z.string().max(LIMITS.tag).nullable().describe('Every job with this tag, by name.');

export const statusPageDefinitionSchema = z
  .strictObject({
    title,
    text: z.string().max(STATUS_LIMITS.text).optional().describe('Plain text below the title; lines are kept.'),
    zone,
    groups: z
      .array(
        z.strictObject({
          name: groupName,
          jobs: z
            .array(namedJob(publicName.optional().describe('What the page calls it. Default: the name of the job.')))
            .min(1)
            .max(STATUS_LIMITS.jobs)
            .nullable()
            .optional()
            .describe('In this order. Write jobs or tag.'),
          tag: tag.optional(),
        }),
      )
      .min(1)
      .max(STATUS_LIMITS.groups),
    show_reasons: z
      .boolean()
      .optional()
      .describe('Show names and reasons of maintenance windows. Default: false. Why a run failed is never shown.'),
    indexable: z.boolean().optional().describe('Search engines may list it. Default: false.'),
    host: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'A host name at whose / the page is shown, too.', example: 'status.example.org' }),
    password: z
      .string()
      .min(STATUS_LIMITS.password.least)
      .max(STATUS_LIMITS.password.most)
      .nullable()
      .optional()
      .describe('Write only. Left out: it stays as it is; null: everybody may see the page.'),
  })
  .openapi('StatusPageDefinition');

export const statusPageSchema = z
  .strictObject({
    slug: z.string(),
    title: z.string(),
    text: z.string(),
    zone,
    groups: z.array(z.strictObject({ name: groupName, jobs: z.array(namedJob(publicName)).nullable(), tag })),
    show_reasons: z.boolean(),
    indexable: z.boolean(),
    host: z.string().nullable(),
    has_password: z.boolean(),
    url: z.string().describe('Where it is.'),
    created_at: instant,
    warnings: z.array(z.string()).describe('Jobs that are gone.'),
  })
  .openapi('StatusPage');
