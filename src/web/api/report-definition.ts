import type { ReportDefinition } from '../../core/report.ts';
import type { Result } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { LIMITS } from './definition.ts';
import { type Fields, fieldValue, listField, nullableValue, refuseField, textFlaw } from './fields.ts';

export const REPORT_FIELDS = ['every', 'zone', 'channels', 'tags'] as const;

type Known = {
  readonly zones: { get(name: string): Result<Zone> };
  /** The e-mail channels of the project. */
  readonly emails: ReadonlySet<string>;
};

/** A report as PUT gives it. Where anything is wrong `fields` has the errors, and what is answered is of no use. */
export function readReport(
  fields: Fields,
  { zones, emails }: Known,
): { readonly definition: ReportDefinition; readonly zone: Zone | null } {
  const zone = zoneField(fields, zones);
  const definition = {
    every: everyField(fields),
    zone: zone?.name ?? '',
    channels: channelsField(fields, emails),
    tags: tagsField(fields),
  };
  return { definition, zone };
}

function everyField(fields: Fields): ReportDefinition['every'] {
  const every = fieldValue(fields, 'every');
  if (every === 'week' || every === 'month') return every;
  refuseField(fields, 'every', 'is required: write "week" or "month"');
  return 'week';
}

function zoneField(fields: Fields, zones: Known['zones']): Zone | null {
  const name = fieldValue(fields, 'zone');
  const zone = typeof name === 'string' ? zones.get(name) : null;
  if (zone?.ok) return zone.value;
  refuseField(fields, 'zone', zone?.reason ?? 'is required: write a name such as Europe/Berlin, or UTC');
  return null;
}

function channelsField(fields: Fields, emails: ReadonlySet<string>): readonly string[] {
  const wrongBefore = fields.errors.length;
  const channels = listField(fields, 'channels', {
    most: LIMITS.channels,
    what: 'channels',
    item: (slug) => (emails.has(slug) ? null : 'is no e-mail channel of the project: reports go by e-mail only'),
  });
  if (!channels?.length && fields.errors.length === wrongBefore) {
    refuseField(fields, 'channels', 'is required: write the slugs of one or more e-mail channels');
  }
  return channels ?? [];
}

function tagsField(fields: Fields): readonly string[] | null {
  if (nullableValue(fields, 'tags') === undefined) return null;
  const wrongBefore = fields.errors.length;
  const tags = listField(fields, 'tags', {
    most: LIMITS.tags,
    what: 'tags',
    item: (tag) => (tag.trim() === '' ? 'must not be empty' : textFlaw(tag, LIMITS.tag)),
  });
  if (tags?.length === 0 && fields.errors.length === wrongBefore) {
    refuseField(fields, 'tags', 'must not be empty: leave it out for all jobs');
  }
  return tags;
}
