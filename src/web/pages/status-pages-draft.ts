import type { z } from 'zod';
import type { statusPageSchema } from '../api/status-pages-schemas.ts';
import type { ApiFlaw } from './call.ts';

export type ShownStatusPage = z.infer<typeof statusPageSchema>;

/** A row of the form: one job, or every job with a tag, in a group. */
export type Row = { readonly group: string; readonly shows: string; readonly name: string };

/** A status page as it stands in the form. */
export type StatusDraft = {
  readonly slug: string;
  readonly title: string;
  readonly text: string;
  readonly zone: string;
  readonly rows: readonly Row[];
  readonly show_reasons: boolean;
  readonly indexable: boolean;
  readonly host: string;
  /** Empty: none, or the one that is there. */
  readonly password: string;
  readonly drops_password: boolean;
};

/** Empty rows below those that say something. */
const SPARE_ROWS = 3;
const MORE_ROWS = 10;
const TAG = /^tag:\s*/i;
const EMPTY: Row = { group: '', shows: '', name: '' };
const isEmpty = ({ group, shows, name }: Row): boolean => group === '' && shows === '' && name === '';

export const newDraft = (zone: string): StatusDraft => ({
  slug: '',
  title: '',
  text: '',
  zone,
  rows: withSpare([]),
  show_reasons: false,
  indexable: false,
  host: '',
  password: '',
  drops_password: false,
});

/** A stored page as the form would have been filled in. The password is never shown. */
export function draftOf(page: ShownStatusPage): StatusDraft {
  const rows = page.groups.flatMap(({ name: group, jobs, tag }) =>
    jobs === null
      ? [{ group, shows: `tag:${tag ?? ''}`, name: '' }]
      : jobs.map(({ job, name }) => ({ group, shows: job, name: name ?? '' })),
  );
  const { slug, title, text, zone, show_reasons, indexable } = page;
  return {
    ...{ slug, title, text, zone, show_reasons, indexable },
    rows: withSpare(rows),
    host: page.host ?? '',
    password: '',
    drops_password: false,
  };
}

/** What was sent: rows are `group`, `shows` and `name`, each as often as there are rows. */
export function readDraft(form: FormData): StatusDraft {
  const text = (name: string): string => String(form.get(name) ?? '').trim();
  const all = (name: string): readonly string[] => form.getAll(name).map((value) => String(value).trim());
  const [groups, shows, names] = [all('group'), all('shows'), all('name')];
  const rows = shows.map((one, i) => ({ group: groups[i] ?? '', shows: one, name: names[i] ?? '' }));
  return {
    slug: text('slug'),
    title: text('title'),
    text: text('text').replaceAll('\r\n', '\n'),
    zone: text('zone'),
    rows: withSpare(
      rows.filter((row) => !isEmpty(row)),
      form.has('more') ? MORE_ROWS : SPARE_ROWS,
    ),
    show_reasons: form.has('show_reasons'),
    indexable: form.has('indexable'),
    host: text('host'),
    // Spaces at its ends may be meant.
    password: String(form.get('password') ?? ''),
    drops_password: form.has('drops_password'),
  };
}

function withSpare(rows: readonly Row[], spare = SPARE_ROWS): readonly Row[] {
  return [...rows, ...Array.from({ length: spare }, () => EMPTY)];
}

/** The body of PUT, and which row each of its places came from. */
export type Sent = {
  readonly body: object;
  readonly rowOf: ReadonlyMap<string, number>;
  readonly flaws: readonly ApiFlaw[];
};

/** Groups are in the order of their first rows; a row without a group belongs to that of the row above. */
export function bodyOf(draft: StatusDraft): Sent {
  const { groups, rowOf, flaws } = groupsOf(draft.rows);
  const { title, text, zone, show_reasons, indexable, host, password, drops_password } = draft;
  const secret = drops_password ? { password: null } : password === '' ? {} : { password };
  const body = { title, text, zone, groups, show_reasons, indexable, ...(host === '' ? {} : { host }), ...secret };
  return { body, rowOf, flaws };
}

type Group = {
  readonly name: string;
  readonly tag?: string;
  readonly jobs?: { readonly job: string; readonly name?: string }[];
};

function groupsOf(rows: readonly Row[]) {
  const groups: Group[] = [];
  const rowOf = new Map<string, number>();
  const flaws: ApiFlaw[] = [];
  let above = '';
  rows.forEach((row, i) => {
    if (isEmpty(row)) return;
    const name = row.group === '' ? above : row.group;
    above = name;
    if (row.shows === '') flaws.push({ path: `rows.${i}`, message: 'name a job, or write tag: and a tag' });
    const found = groups.findIndex((group) => group.name.toLowerCase() === name.toLowerCase());
    const at = found === -1 ? groups.length : found;
    if (TAG.test(row.shows)) {
      if (found !== -1)
        flaws.push({ path: `rows.${i}`, message: 'a tag needs a group of its own: name another group' });
      else groups.push({ name, tag: row.shows.replace(TAG, '') });
      rowOf.set(`groups.${at}`, i);
      return;
    }
    const group = groups[at] ?? { name, jobs: [] };
    if (found === -1) groups.push(group);
    if (!group.jobs) {
      flaws.push({ path: `rows.${i}`, message: 'this group shows a tag: name another group' });
      return;
    }
    if (!rowOf.has(`groups.${at}`)) rowOf.set(`groups.${at}`, i);
    rowOf.set(`groups.${at}.jobs.${group.jobs.length}`, i);
    group.jobs.push({ job: row.shows, ...(row.name === '' ? {} : { name: row.name }) });
  });
  return { groups, rowOf, flaws };
}

/** What the API says about its places, said about the rows of the form. */
export function flawsOfRows(errors: readonly ApiFlaw[], { rowOf, flaws }: Sent): readonly ApiFlaw[] {
  const moved = errors.map((error) => {
    const place = /^groups\.\d+\.jobs\.\d+/.exec(error.path)?.[0] ?? /^groups\.\d+/.exec(error.path)?.[0];
    const row = place === undefined ? undefined : rowOf.get(place);
    if (row === undefined) return error;
    return { path: `rows.${row}`, message: error.path.endsWith('.name') ? `the name ${error.message}` : error.message };
  });
  return [...flaws, ...moved];
}
