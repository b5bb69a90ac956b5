import type { Report, Tally } from '../../src/core/report.ts';
import { type Counts, tallyOf } from '../../src/core/report.ts';

export const tally = (counts: Counts): Tally => tallyOf(counts);

/** October of a project in which something of everything happened, unless the changes say otherwise. */
export function sampleReport(changes: Partial<Report> = {}): Report {
  return {
    slug: 'monthly',
    project: { slug: 'default', name: 'Billing platform' },
    every: 'month',
    zone: 'Europe/Berlin',
    tags: null,
    period: { name: '2026-10', starts_at: '2026-09-30T22:00:00Z', ends_at: '2026-10-31T23:00:00Z', is_complete: true },
    as_of: '2026-10-31T23:15:00Z',
    occurrences: tally({
      on_time: 12_210,
      late: 14,
      expired: 2,
      failed: 9,
      missed: 21,
      overdue: 3,
      coalesced: 6,
      skipped: 62,
      unknown: 4,
      expected: 1,
    }),
    before: { name: '2026-09', occurrences: tally({ on_time: 11_000, missed: 200 }) },
    jobs: { total: 27, in_trouble: 3, well: 22, without_data: 2 },
    worst_jobs: [
      {
        job: 'invoice-archive',
        name: 'Invoice archive to the tax office <EU & UK>',
        since: '2026-10-14T09:20:31Z',
        occurrences: tally({ on_time: 4, missed: 11, failed: 2, overdue: 1, skipped: 2 }),
      },
      {
        job: 'nightly-billing',
        name: 'Nightly billing',
        since: null,
        occurrences: tally({ on_time: 25, late: 1, failed: 1, missed: 1, skipped: 3 }),
      },
      {
        job: 'cleanup-of-temporary-files-on-every-node-of-the-cluster',
        name: 'cleanup-of-temporary-files-on-every-node-of-the-cluster',
        since: null,
        occurrences: tally({ on_time: 8_900, coalesced: 6, late: 13, expired: 2, unknown: 4 }),
      },
    ],
    owed: [
      {
        job: 'ledger-export',
        count: 112,
        oldest: '2026-10-02T02:30+02:00',
        unconfirmed: 0,
        needs_decision: true,
        is_paused: false,
      },
      {
        job: 'nightly-billing',
        count: 1,
        oldest: '2026-10-25T02:30+02:00',
        unconfirmed: 2,
        needs_decision: false,
        is_paused: false,
      },
    ],
    owed_jobs: 2,
    schedule_edits: [
      {
        job: 'nightly-billing',
        at: '2026-10-15T08:12:00Z',
        actor: 'api key 3f2a91bc',
        changes: ['schedule 30 2 * * * becomes 0 2 * * * and 0 14 * * *', 'zone Europe/Berlin becomes UTC'],
      },
    ],
    schedule_edit_count: 1,
    incidents: {
      opened: { missing: 12, failed: 6, late: 3, duplicate: 1 },
      still_open: 2,
      longest: {
        id: 91,
        job: 'invoice-archive',
        kind: 'missing',
        opened_at: '2026-10-14T09:35:00Z',
        resolved_at: null,
        seconds: 1_518_000,
      },
    },
    clock_changes: [
      {
        zone: 'America/New_York',
        at: '2026-11-01T06:00:00Z',
        shift_seconds: -3600,
        from: '2026-11-01T02:00',
        to: '2026-11-01T01:00',
        jobs: 4,
        touched: [{ job: 'us-settlement', effects: ['01:30 happens twice, and only the first pass is due'] }],
      },
    ],
    unreported: { count: 2, first: '2026-08', last: '2026-09' },
    ...changes,
  };
}
