import { z } from 'zod';
import { incidentKinds } from '../../core/message.ts';
import type { FieldError } from '../../core/schedule.ts';
import type { Seconds } from '../../core/time.ts';
import type { Routes } from '../../store/channels.ts';
import type { ToldKind } from '../../store/routing.ts';
import { LIMITS } from './definition.ts';
import { durationField, type Fields, listField, nullableValue, readFields, refuseField, textFlaw } from './fields.ts';

/** What a message may be about, as routes and the dry run name it. */
export const toldKinds: readonly ToldKind[] = [...incidentKinds, 'unknown'];

type ChannelFields = { readonly remindEvery: Seconds | null; readonly routes: Routes | null };

const LEAST: Seconds = 60;
const MOST: Seconds = 30 * 86_400;
const MOST_TAGS = 100;

/** Reads what every kind of channel takes; the rest is left to the kind. */
export function readChannelFields(body: Readonly<Record<string, unknown>>): {
  readonly own: ChannelFields;
  readonly rest: Readonly<Record<string, unknown>>;
  readonly errors: readonly FieldError[];
} {
  const { remind_every: _, routes: __, ...rest } = body;
  const fields: Fields = { input: body, errors: [] };
  return { own: { remindEvery: remindEvery(fields), routes: routes(fields) }, rest, errors: fields.errors };
}

function remindEvery(fields: Fields): Seconds | null {
  const every = durationField(fields, 'remind_every');
  if (every === null || (every >= LEAST && every <= MOST)) return every;
  refuseField(fields, 'remind_every', 'must be at least 1m and at most 30d');
  return null;
}

function routes(fields: Fields): Routes | null {
  const value = nullableValue(fields, 'routes');
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuseField(fields, 'routes', 'must be {"kinds": […], "tags": […]} with at least one of the two, or null');
    return null;
  }
  const own = readFields(value as Readonly<Record<string, unknown>>, ['kinds', 'tags']);
  const kinds = listOrNull(own, 'kinds', {
    what: 'kinds',
    most: toldKinds.length,
    item: (kind) => (toldKinds.some((known) => known === kind) ? null : `must be one of ${toldKinds.join(', ')}`),
  });
  const tags = listOrNull(own, 'tags', { what: 'tags', most: MOST_TAGS, item: (tag) => textFlaw(tag, LIMITS.tag) });
  for (const { path, message } of own.errors) refuseField(fields, `routes.${path}`, message);
  if (own.errors.length === 0 && kinds === null && tags === null) {
    refuseField(fields, 'routes', 'needs kinds or tags: without routes a channel gets what jobs send it');
  }
  return { kinds: kinds as readonly ToldKind[] | null, tags };
}

function listOrNull(fields: Fields, name: string, rule: Parameters<typeof listField>[2]): readonly string[] | null {
  if (nullableValue(fields, name) === undefined) return null;
  const list = listField(fields, name, rule);
  if (list?.length === 0 && fields.errors.length === 0) refuseField(fields, name, 'is empty: leave it out for all');
  return list;
}

/** The same for the API's description. */
export const channelFields: Readonly<Record<string, z.ZodType>> = {
  remind_every: z
    .union([z.string(), z.int()])
    .nullable()
    .optional()
    .describe('An open incident is told again after this: a duration from 1m to 30d; null: never.'),
  routes: z
    .strictObject({
      kinds: z.array(z.enum(toldKinds)).nullable().optional().describe('null: all.'),
      tags: z.array(z.string()).nullable().optional().describe('Jobs with one of these; null: any.'),
    })
    .nullable()
    .optional()
    .describe('What it gets beside what jobs send it by name: kinds or tags, or both. null: what jobs send it.'),
};
