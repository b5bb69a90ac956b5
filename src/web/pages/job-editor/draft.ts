import type { Context } from 'hono';
import { thresholdKinds } from '../../../core/definition.ts';
import type { ApiFlaw } from '../call.ts';

/** What is typed into the form, by the names of its fields; of a field with several values all of them. */
export type Draft = Readonly<Record<string, readonly string[]>>;

/** Line ends as people write them: a browser sends CR LF. */
export async function readDraft(c: Context): Promise<Draft> {
  const body = await c.req.parseBody({ all: true });
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      [value].flat().flatMap((one) => (typeof one === 'string' ? [one.replaceAll('\r\n', '\n')] : [])),
    ]),
  );
}

/** The last value of a field; empty where there is none. */
export const textOf = (draft: Draft, name: string): string => draft[name]?.at(-1) ?? '';

/** Words between commas. */
const wordsOf = (draft: Draft, name: string): string[] =>
  textOf(draft, name)
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');

export type ScheduleKindName = 'times' | 'interval' | 'heartbeat';

export function kindOf(draft: Draft): ScheduleKindName {
  const kind = textOf(draft, 'kind');
  return kind === 'interval' || kind === 'heartbeat' ? kind : 'times';
}

/** The lines of the schedule that say something, with their numbers. */
function linesOf(draft: Draft): { readonly number: number; readonly text: string }[] {
  return textOf(draft, 'lines')
    .split('\n')
    .map((line, i) => ({ number: i + 1, text: line.trim() }))
    .filter(({ text }) => text !== '');
}

const EVERY = /^every\s+(\S+)(?:\s+from\s+(\S+))?$/i;

/** A line as the API takes it: `every 2h`, `every 2h from 2026-01-01T00:00:00Z`, or cron. */
function scheduleOf(line: string): object {
  const [, every, anchor] = EVERY.exec(line) ?? [];
  if (every === undefined) return { cron: line };
  return { every, ...(anchor === undefined ? {} : { anchor }) };
}

/** The `schedules` of the API. */
export function schedulesOf(draft: Draft): readonly object[] {
  const anchor = textOf(draft, 'anchor').trim();
  switch (kindOf(draft)) {
    case 'times':
      return linesOf(draft).map(({ text }) => scheduleOf(text));
    case 'interval':
      return [{ every: textOf(draft, 'every').trim(), ...(anchor === '' ? {} : { anchor }) }];
    case 'heartbeat':
      return [{ heartbeat: textOf(draft, 'heartbeat').trim() }];
  }
}

/** Fields that are sent as they are, and left out where they are empty. */
const PLAIN = [
  'name',
  'zone',
  'early',
  'start_within',
  'grace',
  'useful_for',
  'max_runtime',
  'throttle',
  'overlap',
  'duplicates',
  'unscheduled',
] as const;

/** What the form means: the body of PUT /jobs/{slug}. */
export function bodyOf(draft: Draft): Record<string, unknown> {
  const isHeartbeat = kindOf(draft) === 'heartbeat';
  const plain = PLAIN.flatMap((name) => {
    const text = textOf(draft, name).trim();
    return text === '' ? [] : [[name, text] as const];
  });
  const schedules = schedulesOf(draft);
  const policy = textOf(draft, 'missed_runs');
  const most = textOf(draft, 'max_catch_up').trim();
  return {
    ...Object.fromEntries(plain),
    description: textOf(draft, 'description'),
    tags: wordsOf(draft, 'tags'),
    ...(schedules.length === 0 ? {} : { schedules }),
    // A heartbeat takes none; which one was chosen before does not matter to it.
    ...(isHeartbeat || policy === '' ? {} : { missed_runs: policy }),
    missed_runs_reason: textOf(draft, 'missed_runs_reason'),
    ...(most === '' ? {} : { max_catch_up: numberOrText(most) }),
    alert_after: alertAfterOf(draft),
    after: wordsOf(draft, 'after'),
    channels: channelsOf(draft),
  };
}

/** What is no number is sent as it is, to be refused in the API's words. */
const numberOrText = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

function alertAfterOf(draft: Draft): object {
  return Object.fromEntries(
    thresholdKinds.flatMap((kind) => {
      const given = (['count', 'of'] as const).flatMap((part) => {
        const text = textOf(draft, `alert_after.${kind}.${part}`).trim();
        return text === '' ? [] : [[part, numberOrText(text)] as const];
      });
      return given.length === 0 ? [] : [[kind, Object.fromEntries(given)]];
    }),
  );
}

function channelsOf(draft: Draft): readonly string[] | null {
  const mode = textOf(draft, 'channels_mode');
  if (mode === 'none') return [];
  return mode === 'these' ? (draft['channels'] ?? []) : null;
}

/** What the form itself has against it, before the API is asked. */
export function ownFlaws(draft: Draft): readonly ApiFlaw[] {
  const namesNone = textOf(draft, 'channels_mode') === 'these' && (draft['channels'] ?? []).length === 0;
  return namesNone ? [{ path: 'channels', message: 'Choose at least one channel, or nobody.' }] : [];
}

/** What is wrong, by the field of the form at which it is said. */
export function flawsByField(draft: Draft, errors: readonly ApiFlaw[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { path, message } of errors) {
    const { field, text } = placeOf(draft, path, message);
    const known = found.get(field);
    found.set(field, known === undefined ? text : `${known}; ${text}`);
  }
  return found;
}

/** Where nothing was chosen, the words of a form rather than of JSON. */
const MISSING: Readonly<Record<string, string>> = {
  zone: 'Choose a time zone: none is assumed.',
  missed_runs: 'Choose one of the three: none is assumed.',
};

function placeOf(draft: Draft, path: string, message: string): { readonly field: string; readonly text: string } {
  const [, index, part] = /^schedules(?:\[(\d+)\](?:\.(\w+))?)?/.exec(path) ?? [];
  if (path.startsWith('schedules')) {
    const kind = kindOf(draft);
    if (kind !== 'times')
      return { field: part === 'anchor' ? 'anchor' : kind === 'heartbeat' ? kind : 'every', text: message };
    const lines = linesOf(draft);
    const line = index === undefined ? undefined : lines[Number(index)];
    const text = lines.length === 0 ? 'Write at least one line, such as 30 2 * * *' : message;
    return { field: 'lines', text: line && lines.length > 1 ? `line ${line.number}: ${text}` : text };
  }
  if (path.startsWith('alert_after.')) return { field: path.split('.').slice(0, 2).join('.'), text: message };
  const missing = textOf(draft, path).trim() === '' ? MISSING[path] : undefined;
  if (missing !== undefined) return { field: path, text: missing };
  const [, list, item] = /^(tags|channels|after)\[(\d+)\]/.exec(path) ?? [];
  if (list === undefined) return { field: path, text: message };
  const word = list === 'channels' ? draft['channels']?.[Number(item)] : wordsOf(draft, list)[Number(item)];
  return { field: list, text: `${word ?? ''}: ${message}` };
}

/** A slug made of a name: what cannot be in one becomes a hyphen. */
export function slugFrom(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9_]+/g, '-')
    .slice(0, 100)
    .replace(/^-+|-+$/g, '');
}

/** A job as GET shows it. */
export type ShownJob = Readonly<Record<string, unknown>> & {
  readonly slug: string;
  readonly name: string;
  readonly schedules: readonly Readonly<Record<string, string>>[];
  readonly tags: readonly string[];
  readonly after: readonly string[];
  readonly channels: readonly string[] | null;
  readonly alert_after: Readonly<Record<string, { readonly count: number; readonly of: number }>>;
};

/** The form as it stands for a job. */
export function draftOf(job: ShownJob): Draft {
  const plain = [...PLAIN, 'description', 'missed_runs', 'missed_runs_reason', 'max_catch_up'].map((name) => {
    const value = job[name];
    return [name, value === null || value === undefined ? [] : [String(value)]] as const;
  });
  const thresholds = Object.entries(job.alert_after).flatMap(([kind, { count, of }]) => [
    [`alert_after.${kind}.count`, [String(count)]] as const,
    [`alert_after.${kind}.of`, [String(of)]] as const,
  ]);
  const { channels } = job;
  return {
    ...Object.fromEntries([...plain, ...thresholds]),
    ...scheduleFields(job.schedules),
    slug: [job.slug],
    tags: [job.tags.join(', ')],
    after: [job.after.join(', ')],
    channels_mode: [channels === null ? 'all' : channels.length === 0 ? 'none' : 'these'],
    channels: channels ?? [],
  };
}

/** The form for another job like this one: only what names it is missing. */
export function copyOf(job: ShownJob): Draft {
  return { ...draftOf(job), name: [], slug: [] };
}

const EPOCH = '1970-01-01T00:00:00Z';

function scheduleFields(schedules: ShownJob['schedules']): Draft {
  const [first] = schedules;
  if (first?.['heartbeat'] !== undefined) return { kind: ['heartbeat'], heartbeat: [first['heartbeat']] };
  const anchorOf = ({ anchor }: Readonly<Record<string, string>>): string => (anchor === EPOCH ? '' : (anchor ?? ''));
  if (first?.['every'] !== undefined && schedules.length === 1)
    return { kind: ['interval'], every: [first['every']], anchor: [anchorOf(first)] };
  const lines = schedules.map((one) => {
    if (one['cron'] !== undefined) return one['cron'];
    return `every ${one['every']}${anchorOf(one) === '' ? '' : ` from ${anchorOf(one)}`}`;
  });
  return { kind: ['times'], lines: [lines.join('\n')] };
}

/** An empty form. */
export const NEW_DRAFT: Draft = { kind: ['times'], channels_mode: ['all'] };
