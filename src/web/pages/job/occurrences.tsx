import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import { type State, states } from '../../../core/occurrence.ts';
import { type Instant, readingMillis } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { listOccurrences, type OccurrenceReading } from '../../../engine/reading.ts';
import { cursorAfter, numberCursor } from '../../api/query.ts';
import type { PageDeps } from '../deps.ts';
import { STATE_WORDS } from '../roll.tsx';
import type { PageEnv } from '../viewer.ts';
import { type JobView, jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { loadJob } from './load.ts';
import { OccurrenceTable } from './occurrence-table.tsx';

const PAGE_SIZE = 50;
const DAY_MS = 86_400_000;
const ENDLESS = Number.POSITIVE_INFINITY;

/** What was asked for, as it was typed; `day` is short for a day from and until. */
type Filter = {
  readonly state: State | '';
  readonly from: string;
  readonly until: string;
  /** Strictly before this instant; null: the first page. */
  readonly before: Instant | null;
  readonly flaws: { readonly from?: string; readonly until?: string };
};

/** The ledger of a job, newest first, by state and local date. */
export async function occurrencesPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const filter = readFilter(c);
  const found = await loadJob(deps, c, async (tx, { readable, stored, zone, now }) => {
    const window = windowOf(filter, zone, { after: stored.createdAt, until: now });
    const ahead = window && { ...window.dates, dueUntil: (filter.before ?? ENDLESS) - 1 };
    const occurrences = window
      ? await listOccurrences(tx, readable, window, { limit: PAGE_SIZE + 1, zones: deps.zones, ahead })
      : [];
    return { occurrences };
  });
  if (!found) return noSuchJobPage(deps, c);
  const view = jobView(c, found.job);
  const status = Object.keys(filter.flaws).length > 0 ? 400 : 200;
  return jobPage(
    deps,
    c,
    view,
    { tab: 'occurrences', title: 'Occurrences', status },
    <List view={view} filter={filter} occurrences={found.occurrences} />,
  );
}

function readFilter(c: Context): Filter {
  const day = c.req.query('day');
  const from = (day ?? c.req.query('from') ?? '').trim().slice(0, 40);
  const until = (day ?? c.req.query('until') ?? '').trim().slice(0, 40);
  const cursor = c.req.query('cursor');
  const flawed = (text: string): boolean => text !== '' && dateOf(text) === null;
  const [first, last] = [dateOf(from), dateOf(until)];
  const wrong = 'write a date such as 2026-10-25';
  return {
    state: states.find((state) => state === c.req.query('state')) ?? '',
    from,
    until,
    before: cursor === undefined ? null : numberCursor({ given: { cursor: [cursor] }, errors: [] }),
    flaws: {
      ...(flawed(from) ? { from: wrong } : {}),
      ...(flawed(until)
        ? { until: wrong }
        : first !== null && last !== null && last < first
          ? { until: 'must not be before from' }
          : {}),
    },
  };
}

/** The reading of its midnight; null: no date. */
function dateOf(text: string): number | null {
  const parts = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/.exec(text)?.groups;
  return parts ? readingMillis(parts) : null;
}

/**
 * The dates are those of the job's zone, both inside; a date to come lists what is expected. What was settled on these
 * dates although it is due later than now is listed too, as the calendar counts it. Null: nothing to look for.
 */
function windowOf(
  { state, from, until, before, flaws }: Filter,
  zone: Zone,
  whole: { readonly after: Instant; readonly until: Instant },
) {
  if (flaws.from !== undefined || flaws.until !== undefined) return null;
  const [first, last] = [dateOf(from), dateOf(until)];
  const dates = {
    after: first === null ? -ENDLESS : zone.firstInstantAtOrPast(first) - 1,
    until: last === null ? ENDLESS : zone.firstInstantAtOrPast(last + DAY_MS) - 1,
  };
  return {
    after: Math.max(whole.after, dates.after),
    until: Math.min(last === null ? whole.until : dates.until, (before ?? ENDLESS) - 1),
    dates,
    states: state === '' ? null : [state],
  };
}

const List: FC<{ view: JobView; filter: Filter; occurrences: readonly OccurrenceReading[] }> = ({
  view,
  filter,
  occurrences,
}) => {
  const page = occurrences.slice(0, PAGE_SIZE);
  const last = page.at(-1);
  return (
    <section class="stack" aria-label="Occurrences">
      <FilterForm view={view} filter={filter} />
      {page.length === 0 ? (
        <p class="empty soft">No occurrence matches.</p>
      ) : (
        <OccurrenceTable view={view} occurrences={page} caption="Occurrences, newest first" />
      )}
      <nav class="pager" aria-label="Pages">
        <span>{filter.before === null ? null : <a href={listPath(view, filter)}>Newest</a>}</span>
        {last && occurrences.length > PAGE_SIZE ? (
          <a href={listPath(view, filter, cursorAfter(last.scheduledFor))}>Older</a>
        ) : null}
      </nav>
    </section>
  );
};

function listPath({ base }: JobView, { state, from, until }: Filter, cursor?: string): string {
  const given = Object.entries({ state, from, until, cursor: cursor ?? '' }).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given).toString();
  return `${base}/occurrences${query === '' ? '' : `?${query}`}`;
}

const FilterForm: FC<{ view: JobView; filter: Filter }> = ({ view, filter }) => (
  <form method="get" action={`${view.base}/occurrences`} class="row ledger-filter">
    <div class="field">
      <label for="state">State</label>
      <select id="state" name="state">
        <option value="">any</option>
        {states.map((state) => (
          <option value={state} selected={state === filter.state}>
            {STATE_WORDS[state]}
          </option>
        ))}
      </select>
    </div>
    <DateField name="from" label={`From, ${view.job.zone.name}`} value={filter.from} flaw={filter.flaws.from} />
    <DateField name="until" label="Until, that day too" value={filter.until} flaw={filter.flaws.until} />
    <div class="row">
      <button type="submit">Show</button>
      {filter.state === '' && filter.from === '' && filter.until === '' ? null : (
        <a href={`${view.base}/occurrences`}>Show all</a>
      )}
    </div>
  </form>
);

const DateField: FC<{ name: string; label: string; value: string; flaw: string | undefined }> = (field) => {
  const { name, label, value, flaw } = field;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type="date"
        value={value}
        {...(flaw === undefined ? {} : { 'aria-invalid': 'true' as const, 'aria-describedby': `${name}-wrong` })}
      />
      {flaw === undefined ? null : (
        <span class="wrong" id={`${name}-wrong`}>
          {flaw}
        </span>
      )}
    </div>
  );
};
