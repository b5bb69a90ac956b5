import { isIP } from 'node:net';
import type { NamedJob, StatusGroup, StatusPageDefinition } from '../../store/status-pages.ts';
import type { Zones } from '../../zones.ts';
import { LIMITS } from './definition.ts';
import { type Fields, fieldValue, nullableValue, readFields, refuseField, textField, textFlaw } from './fields.ts';
import { STATUS_LIMITS } from './status-pages-schemas.ts';

type Known = {
  readonly zones: Pick<Zones, 'get'>;
  /** Slugs of the project's jobs. */
  readonly jobs: ReadonlySet<string>;
  readonly publicUrl: string;
};

/** `password` undefined: it stays as it is; null: none. */
export type SentStatusPage = {
  readonly definition: StatusPageDefinition;
  readonly host: string | null;
  readonly password: string | null | undefined;
};

const FIELDS = ['title', 'text', 'zone', 'groups', 'show_reasons', 'indexable', 'host', 'password'];

/** Reads the body of PUT /status-pages/{slug}. Where anything is wrong `fields` has the errors, and `page` is of no use. */
export function readStatusPage(
  input: Readonly<Record<string, unknown>>,
  known: Known,
): { readonly fields: Fields; readonly page: SentStatusPage } {
  const fields = readFields(input, FIELDS);
  if (fieldValue(fields, 'title') === undefined)
    refuseField(fields, 'title', 'is required: what the page is headed with');
  const definition = {
    title: textField(fields, 'title', { max: STATUS_LIMITS.title, fallback: '', blank: false }),
    text: textField(fields, 'text', { max: STATUS_LIMITS.text, fallback: '', lines: true }),
    zone: zoneField(fields, known),
    groups: groupsField(fields, known),
    showReasons: flagField(fields, 'show_reasons'),
    indexable: flagField(fields, 'indexable'),
  };
  return { fields, page: { definition, host: hostField(fields, known), password: passwordField(fields) } };
}

function zoneField(fields: Fields, { zones }: Known): string {
  const value = fieldValue(fields, 'zone');
  if (typeof value !== 'string') {
    refuseField(fields, 'zone', 'is required: the time zone in which times are shown, such as Europe/Berlin, or UTC');
    return '';
  }
  const zone = zones.get(value);
  if (!zone.ok) refuseField(fields, 'zone', zone.reason);
  return zone.ok ? value : '';
}

function flagField(fields: Fields, name: string): boolean {
  const value = fieldValue(fields, name);
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  refuseField(fields, name, 'must be true or false');
  return false;
}

function groupsField(fields: Fields, known: Known): readonly StatusGroup[] {
  const value = fieldValue(fields, 'groups');
  if (!Array.isArray(value) || value.length === 0) {
    refuseField(fields, 'groups', 'is required: a list such as [{"name": "Nightly", "jobs": [{"job": "backup"}]}]');
    return [];
  }
  if (value.length > STATUS_LIMITS.groups) {
    refuseField(fields, 'groups', `must have at most ${STATUS_LIMITS.groups} groups: it has ${value.length}`);
    return [];
  }
  const groups = value.map((entry: unknown, i) => readGroup(fields, `groups.${i}`, entry, known));
  const names = groups.map(({ name }) => name.toLowerCase());
  names.forEach((name, i) => {
    if (name !== '' && names.indexOf(name) < i) refuseField(fields, `groups.${i}.name`, 'is the name of another group');
  });
  const count = groups.reduce((sum, { shows }) => sum + (shows.kind === 'jobs' ? shows.jobs.length : 0), 0);
  if (count > STATUS_LIMITS.jobs) refuseField(fields, 'groups', `name at most ${STATUS_LIMITS.jobs} jobs: ${count}`);
  return groups;
}

const NO_JOBS = { kind: 'jobs', jobs: [] } as const;

function readGroup(fields: Fields, path: string, entry: unknown, known: Known): StatusGroup {
  const own = readPart(fields, path, entry, ['name', 'jobs', 'tag']);
  if (own === null) return { name: '', shows: NO_JOBS };
  const name = partText(own, 'name', STATUS_LIMITS.group) ?? '';
  if (name === '' && own.errors.length === 0) refuseField(own, 'name', 'is required: what the group is headed with');
  const [jobs, tag] = [nullableValue(own, 'jobs'), nullableValue(own, 'tag')];
  const shows = jobs !== undefined ? readJobs(own, jobs, known) : readTag(own);
  if ((jobs === undefined) === (tag === undefined)) refuseField(own, '', 'needs either jobs or a tag');
  noteFlaws(fields, path, own);
  return { name, shows };
}

function readTag(own: Fields): StatusGroup['shows'] {
  return { kind: 'tag', tag: partText(own, 'tag', LIMITS.tag) ?? '' };
}

function readJobs(own: Fields, value: unknown, known: Known): StatusGroup['shows'] {
  if (!Array.isArray(value) || value.length === 0 || value.length > STATUS_LIMITS.jobs) {
    refuseField(own, 'jobs', `must be a list of 1 to ${STATUS_LIMITS.jobs} jobs, such as [{"job": "backup"}]`);
    return NO_JOBS;
  }
  const jobs = value.map((entry: unknown, i) => readJob(own, `jobs.${i}`, entry, known));
  jobs.forEach(({ job }, i) => {
    if (job !== '' && jobs.findIndex((other) => other.job === job) < i)
      refuseField(own, `jobs.${i}.job`, 'is in this group twice: remove one');
  });
  return { kind: 'jobs', jobs };
}

function readJob(fields: Fields, path: string, entry: unknown, { jobs }: Known): NamedJob {
  const own = readPart(fields, path, entry, ['job', 'name']);
  if (own === null) return { job: '', name: null };
  const job = fieldValue(own, 'job');
  const isKnown = typeof job === 'string' && jobs.has(job);
  if (!isKnown) refuseField(own, 'job', 'is no job of the project');
  const name = partText(own, 'name', LIMITS.name);
  noteFlaws(fields, path, own);
  return { job: isKnown ? job : '', name };
}

/** A part of the body that must be an object. */
function readPart(fields: Fields, path: string, entry: unknown, known: readonly string[]): Fields | null {
  if (typeof entry === 'object' && entry !== null && !Array.isArray(entry))
    return readFields(entry as Readonly<Record<string, unknown>>, known);
  refuseField(fields, path, 'must be an object');
  return null;
}

/** A text with something in it; null where it was left out. */
function partText(own: Fields, name: string, max: number): string | null {
  const value = nullableValue(own, name);
  if (value === undefined) return null;
  if (typeof value !== 'string' || value.trim() === '') {
    refuseField(own, name, 'must be text that is not empty');
    return null;
  }
  const flaw = textFlaw(value, max);
  if (flaw !== null) refuseField(own, name, flaw);
  return flaw === null ? value.trim() : null;
}

function noteFlaws(fields: Fields, path: string, own: Fields): void {
  for (const { path: below, message } of own.errors) {
    refuseField(fields, below === '' ? path : `${path}.${below}`, message);
  }
}

const HOST = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** A host of its own. Never the one at which Rollcall is, or all of its jobs would lose their address. */
function hostField(fields: Fields, { publicUrl }: Known): string | null {
  const value = nullableValue(fields, 'host');
  if (value === undefined) return null;
  const host = typeof value === 'string' ? value.toLowerCase() : '';
  if (!HOST.test(host) || isIP(host) !== 0)
    refuseField(fields, 'host', 'must be a host name such as status.example.org, without https:// and without a port');
  else if (host === new URL(publicUrl).hostname)
    refuseField(fields, 'host', 'is where Rollcall itself is: give the page a host name of its own, or none');
  else return host;
  return null;
}

function passwordField(fields: Fields): string | null | undefined {
  const value = fieldValue(fields, 'password');
  if (value === undefined || value === null) return value;
  const { least, most } = STATUS_LIMITS.password;
  const length = typeof value === 'string' ? [...value].length : 0;
  if (typeof value === 'string' && length >= least && length <= most && textFlaw(value, most) === null) return value;
  refuseField(fields, 'password', `must be a text of ${least} to ${most} characters`);
  return undefined;
}
