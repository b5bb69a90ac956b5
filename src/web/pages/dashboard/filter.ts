import { type JobStatus, statusOf } from '../../../core/status.ts';
import type { JobLine } from '../../../store/dashboard.ts';

/** A job with its status and what it owes. */
export type RatedJob = JobLine & { readonly status: JobStatus; readonly owed: number };

/** What a person wants to see of the list, as it stands in the address. */
export type Filter = {
  readonly q: string;
  readonly tag: string;
  readonly status: StatusFilter | '';
  readonly sort: Sort;
  /** From 1 on. */
  readonly page: number;
};

export const STATUS_FILTERS = {
  trouble: 'In trouble',
  owing: 'Owes runs',
  down: 'Down',
  late: 'Late',
  blocked: 'Blocked',
  unknown: 'Unknown',
  new: 'New',
  up: 'Up',
  paused: 'Paused',
} as const;
type StatusFilter = keyof typeof STATUS_FILTERS;

export const SORTS = {
  trouble: 'Trouble first',
  slug: 'By slug',
  next: 'Next due first',
  owed: 'Owes most first',
  newest: 'Newest first',
} as const;
type Sort = keyof typeof SORTS;

export const PAGE_SIZE = 100;
const LONGEST_WORDS = 200;

/** Reads the query of an address; what makes no sense is as if it were left out. */
export function readFilter(query: (name: string) => string | undefined): Filter {
  const text = (name: string): string => (query(name) ?? '').trim().slice(0, LONGEST_WORDS);
  const status = text('status');
  const sort = text('sort');
  return {
    q: text('q'),
    tag: text('tag'),
    status: Object.hasOwn(STATUS_FILTERS, status) ? (status as StatusFilter) : '',
    sort: Object.hasOwn(SORTS, sort) ? (sort as Sort) : 'trouble',
    page: /^[1-9]\d{0,5}$/.test(text('page')) ? Number(text('page')) : 1,
  };
}

/** The address of the list with this filter changed so; another filter begins at its first page. */
export const filterPath = (project: string, filter: Filter, change: Partial<Filter> = {}): string =>
  `/projects/${project}${filterQuery({ ...filter, page: 1, ...change })}`;

/** The query of an address by which `readFilter` reads this filter. */
export function filterQuery({ q, tag, status, sort, page }: Filter): string {
  const query = new URLSearchParams({
    ...(q === '' ? {} : { q }),
    ...(tag === '' ? {} : { tag }),
    ...(status === '' ? {} : { status }),
    ...(sort === 'trouble' ? {} : { sort }),
    ...(page === 1 ? {} : { page: String(page) }),
  }).toString();
  return query === '' ? '' : `?${query}`;
}

/** Something of the list is left out. */
export const isFiltered = ({ q, tag, status }: Filter): boolean => q !== '' || tag !== '' || status !== '';

export function rated(line: JobLine, owed: number): RatedJob {
  const status = statusOf({ ...line, paused: line.isPaused, blocked: line.isBlocked });
  return { ...line, status, owed };
}

/** 0 is the worst; from `FINE` on a job is not in trouble. A duplicate or an off-schedule run stands beside any status. */
function rank({ status, openKinds }: RatedJob): number {
  if (status === 'down') return 0;
  if (status === 'late') return 1;
  if (status === 'blocked') return 2;
  return openKinds.length > 0 ? 3 : FINE;
}
const FINE = 4;

export const isInTrouble = (job: RatedJob): boolean => rank(job) < FINE;

/** The jobs a filter lets through, in its order. Every word of `q` is part of the slug, the name or a tag. */
export function matching(jobs: readonly RatedJob[], filter: Filter): readonly RatedJob[] {
  const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ slug, name, tags }: RatedJob): boolean => {
    const text = [slug, name, ...tags].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return jobs
    .filter((job) => (filter.tag === '' || job.tags.includes(filter.tag)) && hasStatus(job, filter.status))
    .filter(isFound)
    .sort((a, b) => ORDERS[filter.sort](a, b) || (a.slug < b.slug ? -1 : 1));
}

function hasStatus(job: RatedJob, wanted: Filter['status']): boolean {
  if (wanted === '') return true;
  if (wanted === 'trouble') return isInTrouble(job);
  return wanted === 'owing' ? job.owed > 0 : job.status === wanted;
}

const LATER = Number.POSITIVE_INFINITY;
const dueNext = ({ isPaused, nextUnrecorded }: RatedJob): number => (isPaused ? LATER : (nextUnrecorded ?? LATER));

const ORDERS: Readonly<Record<Sort, (a: RatedJob, b: RatedJob) => number>> = {
  trouble: (a, b) => rank(a) - rank(b),
  slug: () => 0,
  // Two that never come due are equal, not NaN.
  next: (a, b) => (dueNext(a) === dueNext(b) ? 0 : dueNext(a) - dueNext(b)),
  owed: (a, b) => b.owed - a.owed,
  newest: (a, b) => b.createdAt - a.createdAt,
};
