import { formatInstant, type Instant } from '../../core/time.ts';
import type { ShownJob } from '../../engine/status-pages-view.ts';
import type { Share } from '../../store/shares.ts';
import type { Rendered, Shown } from './representation.ts';
import { KIND_WORDS, overallOf, STATUS_WORDS } from './words.ts';

const instantOrNull = (at: Instant | null): string | null => (at === null ? null : formatInstant(at));

/** The page for programs. Fields are added, and never renamed or removed, as long as `schema` is 1 (docs/status-pages.md). */
export function statusJson({ view, url, isStale }: Shown): Rendered {
  const { title, text, zone, asOf, groups, hidden, incidents, maintenance, hearing } = view;
  const { troubled, ...overall } = overallOf(groups);
  const body = {
    schema: 1,
    page: { title, text, url },
    as_of: formatInstant(asOf),
    is_stale: isStale,
    zone: zone.name,
    overall: { ...overall, in_trouble: troubled, not_shown: hidden },
    groups: groups.map(({ id, name, jobs }) => ({ id, name, jobs: jobs.map(jobJson) })),
    incidents: incidents.map(({ id, job, kind, openedAt, endedAt, occurrences }) => ({
      id,
      job: job.id,
      name: job.name,
      kind,
      text: `${job.name} ${KIND_WORDS[kind]}`,
      opened_at: formatInstant(openedAt),
      ended_at: instantOrNull(endedAt),
      occurrences,
    })),
    maintenance: maintenance.map(({ from, until, isCalendar, name, reason, jobs }) => ({
      starts_at: formatInstant(from),
      ends_at: formatInstant(until),
      kind: isCalendar ? 'calendar' : 'maintenance',
      name,
      reason,
      jobs: jobs === null ? null : jobs.map((job) => job.id),
    })),
    rollcall: {
      hears: hearing.trouble !== 'deaf' && hearing.trouble !== 'clock',
      lag_seconds: hearing.lagMs === null ? null : Math.round(hearing.lagMs / 1000),
      last_heard_at: instantOrNull(hearing.lastHeard),
      blind_windows: hearing.blind.map(({ after, until }) => ({
        after: formatInstant(after),
        until: formatInstant(until),
      })),
    },
  };
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(body) };
}

function jobJson({ id, name, status, lastSuccess, nextExpected, shares, roll }: ShownJob) {
  return {
    id,
    name,
    status,
    text: STATUS_WORDS[status][0],
    last_success_at: instantOrNull(lastSuccess),
    next_expected_at: instantOrNull(nextExpected),
    on_time: { '7d': shareJson(shares.d7), '30d': shareJson(shares.d30), '90d': shareJson(shares.d90) },
    roll: roll.map(({ scheduledFor, state, twice }) => ({ at: formatInstant(scheduledFor), state, ran_twice: twice })),
  };
}

function shareJson({ counted, onTime, skipped, unknown }: Share) {
  const share = counted === 0 ? null : Math.floor((onTime / counted) * 1e4) / 1e4;
  return { share, on_time: onTime, counted, skipped, unknown };
}
