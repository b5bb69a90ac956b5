import type { Context } from 'hono';
import { WEEKDAYS } from '../../../core/maintenance.ts';
import { formatInstant, readingMillis } from '../../../core/time.ts';
import { formatLocal, formatOffset, type Zone } from '../../../core/zone.ts';
import type { Zones } from '../../../zones.ts';
import type { ApiFlaw } from '../call.ts';
import { type Draft, textOf } from '../job-editor/draft.ts';

export type WindowKind = 'once' | 'weekly' | 'cron' | 'ics' | 'ics_url';
export const WINDOW_KINDS: readonly WindowKind[] = ['once', 'weekly', 'cron', 'ics', 'ics_url'];

/** Monday first, as people read weeks. */
export const DAYS = [...WEEKDAYS.slice(1), 'sun'] as const;
/** Rows of a weekly window that are there to be filled in. */
const SPARE_ROWS = 2;

/** A form as it was sent; a file that was chosen becomes the text of its field. */
export async function readWindowDraft(c: Context): Promise<Draft> {
  const body = await c.req.parseBody({ all: true });
  const draft: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(body)) {
    draft[name] = [value].flat().flatMap((one) => (typeof one === 'string' ? [one.replaceAll('\r\n', '\n')] : []));
  }
  const [file] = [body['ics_file']].flat();
  if (file instanceof File && file.size > 0) draft['ics'] = [(await file.text()).replaceAll('\r\n', '\n')];
  return draft;
}

export function windowKindOf(draft: Draft): WindowKind {
  return WINDOW_KINDS.find((kind) => kind === textOf(draft, 'kind')) ?? 'once';
}

/** The numbers of the weekly rows that are shown. */
export function weeklyRows(draft: Draft): readonly number[] {
  const used = Object.keys(draft).flatMap((name) => {
    const [, row] = /^weekly\.(\d+)\./.exec(name) ?? [];
    return row !== undefined && isFilled(draft, Number(row)) ? [Number(row)] : [];
  });
  const count = Math.max(0, ...used.map((row) => row + 1)) + SPARE_ROWS;
  return Array.from({ length: Math.min(count, 50) }, (_, i) => i);
}

const isFilled = (draft: Draft, row: number): boolean =>
  ['days', 'start', 'duration'].some((part) =>
    (draft[`weekly.${row}.${part}`] ?? []).some((text) => text.trim() !== ''),
  );

const filledRows = (draft: Draft): number[] => weeklyRows(draft).filter((row) => isFilled(draft, row));

const wordsOf = (draft: Draft, name: string): string[] =>
  textOf(draft, name)
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** What the form means: the body of PUT /maintenance/{slug}, and what the form has against it itself. */
export function windowBody(
  draft: Draft,
  zones: Zones,
): { readonly body: Record<string, unknown>; readonly flaws: readonly ApiFlaw[] } {
  const name = textOf(draft, 'name').trim();
  const isSome = textOf(draft, 'who') === 'some';
  const [jobs, tags] = isSome ? [wordsOf(draft, 'jobs'), wordsOf(draft, 'tags')] : [[], []];
  const isNobody = isSome && jobs.length + tags.length === 0;
  const when = whenOf(draft, zones);
  const bare = bareNumbers(when.fields);
  return {
    body: {
      ...(name === '' ? {} : { name }),
      reason: textOf(draft, 'reason'),
      ...(jobs.length === 0 ? {} : { jobs }),
      ...(tags.length === 0 ? {} : { tags }),
      ...when.fields,
    },
    flaws: [
      ...(isNobody ? [{ path: 'jobs', message: 'Name at least one job or tag, or choose every job.' }] : []),
      ...when.flaws,
      ...bare,
    ],
  };
}

/** The API reads a bare number as seconds; whoever types one into a form may mean minutes. */
function bareNumbers({ duration, weekly }: Readonly<Record<string, unknown>>): readonly ApiFlaw[] {
  const rows = (weekly ?? []) as readonly { readonly duration: string }[];
  return [
    { path: 'duration', text: duration },
    ...rows.map((row, i) => ({ path: `weekly[${i}].duration`, text: row.duration })),
  ].flatMap(({ path, text }) =>
    typeof text === 'string' && /^\d+$/.test(text)
      ? [{ path, message: `Write ${text}s, ${text}m or ${text}h: a number alone could be any of them.` }]
      : [],
  );
}

type WhenFields = { readonly fields: Record<string, unknown>; readonly flaws: readonly ApiFlaw[] };

function whenOf(draft: Draft, zones: Zones): WhenFields {
  const text = (name: string): string => textOf(draft, name).trim();
  const zone = text('zone') === '' ? {} : { zone: text('zone') };
  const plain = (fields: Record<string, unknown>): WhenFields => ({ fields: { ...zone, ...fields }, flaws: [] });
  switch (windowKindOf(draft)) {
    case 'once':
      return onceFields(draft, zones);
    case 'weekly':
      return plain({
        weekly: filledRows(draft).map((row) => ({
          days: draft[`weekly.${row}.days`] ?? [],
          start: text(`weekly.${row}.start`),
          duration: text(`weekly.${row}.duration`),
        })),
      });
    case 'cron':
      return plain({
        cron: text('cron'),
        ...(text('cron_duration') === '' ? {} : { duration: text('cron_duration') }),
      });
    case 'ics':
      return plain({ ics: textOf(draft, 'ics') });
    case 'ics_url':
      return plain({ ics_url: text('ics_url') });
  }
}

/** Local times become instants with the offset of their zone; empty: not said. */
function onceFields(draft: Draft, zones: Zones): WhenFields {
  const name = textOf(draft, 'zone').trim();
  const zone = zones.get(name);
  const duration = textOf(draft, 'duration').trim();
  const given = (['from', 'until'] as const).map((field) => [field, textOf(draft, field).trim()] as const);
  const fields: Record<string, unknown> = duration === '' ? {} : { duration };
  if (!zone.ok)
    return {
      fields,
      flaws: [{ path: 'zone', message: name === '' ? 'Choose the zone of these times.' : zone.reason }],
    };
  const flaws: ApiFlaw[] = [];
  for (const [field, text] of given) {
    if (text === '') continue;
    const at = instantText(text, zone.value);
    if (at === null) flaws.push({ path: field, message: 'Write a local time, such as 2026-12-24T22:00.' });
    else fields[field] = at;
  }
  return { fields, flaws };
}

const LOCAL = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d))?$/;

/** A local time as RFC 3339; in a gap the change of the clocks, of two the first. null: no such time. */
function instantText(text: string, zone: Zone): string | null {
  if (/(?:Z|[+-]\d\d:\d\d)$/.test(text)) return text;
  const local = readingMillis(LOCAL.exec(text)?.groups ?? {});
  if (local === null) return null;
  const at = zone.firstInstantAtOrPast(local);
  const offset = zone.offsetAt(at);
  if (offset % 60 !== 0) return formatInstant(at);
  return `${new Date(at + offset * 1000).toISOString().slice(0, 19)}${formatOffset(offset)}`;
}

/** Where the API's errors are said. */
export function windowFlaws(draft: Draft, errors: readonly ApiFlaw[]): ReadonlyMap<string, string> {
  const kind = windowKindOf(draft);
  const rows = filledRows(draft);
  const found = new Map<string, string>();
  for (const { path, message } of errors) {
    const [, index] = /^weekly\[(\d+)\]/.exec(path) ?? [];
    const [, list] = /^(jobs|tags)\[/.exec(path) ?? [];
    const row = index === undefined ? undefined : rows[Number(index)];
    const part = path.split('.').at(-1);
    const own = path === 'duration' && kind === 'cron' ? 'cron_duration' : (list ?? path);
    const field = row === undefined ? own : 'weekly';
    const text = row === undefined ? message : `row ${row + 1}, ${part?.replace(/\[\d+\]/, '')}: ${message}`;
    const said = path === 'weekly' && rows.length === 0 ? 'Fill in at least one row.' : text;
    found.set(field, found.has(field) ? `${found.get(field)}; ${said}` : said);
  }
  return found;
}

/** A window as GET shows it. */
export type ShownWindow = {
  readonly slug: string;
  readonly name: string;
  readonly reason: string;
  readonly jobs: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly from: string | null;
  readonly until: string | null;
  readonly duration: string | null;
  readonly weekly:
    | readonly { readonly days: readonly string[]; readonly start: string; readonly duration: string }[]
    | null;
  readonly cron: string | null;
  readonly ics?: string | null;
  readonly ics_url: string | null;
  readonly zone: string | null;
  readonly active: boolean;
  readonly changed_at: string;
  readonly changed_by: string;
  readonly events: number | null;
  readonly fetched_at: string | null;
  readonly fetch_failure: string | null;
  readonly jobs_left: number;
};

/** The form for a new window about these jobs and tags, or all where there is none. */
export function newWindowDraft(jobs: readonly string[], tags: readonly string[], zone: Zone): Draft {
  const who = jobs.length + tags.length > 0 ? 'some' : 'all';
  return { kind: ['once'], zone: [zone.name], who: [who], jobs: [jobs.join(', ')], tags: [tags.join(', ')] };
}

/** The form as it stands for a window. The times of one that happens once are those of `zone`. */
export function windowDraftOf(window: ShownWindow, zone: Zone): Draft {
  const local = (text: string | null): string[] => (text === null ? [] : [formatLocal(zone.localAt(Date.parse(text)))]);
  const isSome = window.jobs !== null || window.tags !== null;
  const kind: WindowKind =
    window.weekly !== null
      ? 'weekly'
      : window.cron !== null
        ? 'cron'
        : window.ics_url !== null
          ? 'ics_url'
          : window.ics == null
            ? 'once'
            : 'ics';
  const weekly = (window.weekly ?? []).flatMap(({ days, start, duration }, i) => [
    [`weekly.${i}.days`, days] as const,
    [`weekly.${i}.start`, [start]] as const,
    [`weekly.${i}.duration`, [duration]] as const,
  ]);
  return {
    name: [window.name],
    reason: [window.reason],
    who: [isSome ? 'some' : 'all'],
    jobs: [(window.jobs ?? []).join(', ')],
    tags: [(window.tags ?? []).join(', ')],
    kind: [kind],
    from: local(window.from),
    until: local(window.until),
    zone: [window.zone ?? zone.name],
    cron: window.cron === null ? [] : [window.cron],
    cron_duration: window.duration === null ? [] : [window.duration],
    ics: window.ics == null ? [] : [window.ics],
    ics_url: window.ics_url === null ? [] : [window.ics_url],
    ...Object.fromEntries(weekly),
  };
}
