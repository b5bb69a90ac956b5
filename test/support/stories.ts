import { alertStories } from './stories-alerts.ts';
import { owedStories } from './stories-owed.ts';
import {
  at,
  EVERY_MINUTE,
  edit,
  event,
  everyMinutes,
  fail,
  heartbeat,
  incident,
  job,
  log,
  matched,
  pause,
  resume,
  row,
  type Story,
  settle,
  start,
  success,
  told,
} from './story.ts';

const LED_002 = { created: '08:29:30', until: '10:21' };
const SLOTS_002 = everyMinutes(1, '08:30', 111);
const ONE_NOTICE_002 = {
  kind: 'missing',
  openedAt: at('08:30:30'),
  resolvedAt: null,
  members: SLOTS_002.map((scheduledFor) => ({ scheduledFor, left: false })),
  events: [event('opened, 08:30:30, 08:30')],
};

const schedules: readonly Story[] = [
  {
    name: 'EVL-011: a job that was never pinged is missing from its first occurrence on',
    history: told({ created: '10:02', until: '10:10:30', settings: job({ schedules: [{ cron: '*/5 * * * *' }] }) }, []),
    expect: {
      occurrences: [row('10:05', 'overdue', { wanted: true }), row('10:10', 'expected', { wanted: false })],
      incidents: [incident('missing', ['10:05'], ['opened, 10:10, 10:05'])],
      status: 'down',
    },
  },
  {
    name: 'EVL-014: outside its hours a job owes nothing',
    history: told(
      {
        created: '22:52',
        until: '03 04:00',
        zone: 'Europe/Amsterdam',
        settings: job({ schedules: [{ cron: '*/5 6-23 * * *' }], grace: 900 }),
      },
      [success('22:55:02')],
    ),
    expect: { occurrences: [row('22:55', 'on_time')], incidents: [], status: 'up' },
  },
  {
    name: 'LED-013: a ping just after an instant belongs to it and not to the next',
    history: told({ created: '00:31', until: '00:36', settings: job({ schedules: [{ cron: '*/5 * * * *' }] }) }, [
      success('00:35:01'),
    ]),
    expect: {
      occurrences: [row('00:35', 'on_time', { completions: 1, completedAt: at('00:35:01') })],
      pings: [matched('current', '00:35')],
      incidents: [],
    },
  },
  {
    name: 'LED-014: a ping within early belongs to the occurrence that is about to be due',
    history: told(
      { created: '12:00', until: '23:00', settings: job({ schedules: [{ cron: '51 22 * * *' }], early: 120 }) },
      [success('22:50:03')],
    ),
    expect: {
      occurrences: [row('22:51', 'on_time')],
      pings: [matched('current', '22:51')],
      incidents: [],
      status: 'up',
    },
  },
  {
    name: 'LED-014: a ping before early is off schedule, and the occurrence goes missing',
    history: told(
      { created: '12:00', until: '23:00', settings: job({ schedules: [{ cron: '51 22 * * *' }], early: 120 }) },
      [success('22:48:00')],
    ),
    expect: {
      occurrences: [row('22:51', 'overdue', { completions: 0 })],
      pings: [matched('off_schedule', null)],
      incidents: [incident('missing', ['22:51'], ['opened, 22:56, 22:51'])],
    },
  },
  {
    name: 'an off-schedule run opens unscheduled where the job asks for it, until a later occurrence ends well',
    history: told(
      {
        created: '12:00',
        until: '23:00',
        settings: job({ schedules: [{ cron: '51 22 * * *' }], early: 120, unscheduled: 'alert' }),
      },
      [start('22:48:00'), success('22:48:30'), success('22:51:10', { body: 'nightly' })],
    ),
    expect: {
      occurrences: [row('22:51', 'on_time', { completions: 1 })],
      pings: [matched('off_schedule', null), matched('running', null), matched('current', '22:51')],
      incidents: [incident('unscheduled', [], ['opened, 22:48, -', 'resolved, 22:51:10'])],
      status: 'up',
    },
  },
  {
    name: 'SCH-018: one instant that stands for two local times may be completed twice, the third is a duplicate',
    history: told(
      {
        created: '08 06:00',
        until: '08 08:00',
        zone: 'America/New_York',
        settings: job({ schedules: [{ cron: '0,30 2 * * *' }] }),
      },
      [
        success('08 07:00:05'),
        success('08 07:00:10', { source: 'host-b' }),
        success('08 07:20:00', { source: 'host-c' }),
      ],
    ),
    expect: {
      occurrences: [row('08 07:00', 'on_time', { standsFor: 2, completions: 3 })],
      pings: [matched('current', '08 07:00'), matched('again', '08 07:00'), matched('again', '08 07:00')],
      incidents: [incident('duplicate', ['08 07:00'], ['opened, 08 07:20, 08 07:00'])],
      status: 'up',
    },
  },
  {
    name: 'an ambiguous local key is the first pass, and once that is completed the second',
    history: told(
      {
        created: '2026-10-25T00:00:00Z',
        until: '2026-10-25T01:50:00Z',
        zone: 'Europe/Berlin',
        settings: job({ schedules: [{ cron: '30 * * * *' }] }),
      },
      [
        success('2026-10-25T00:30:10Z', { occ: '2026-10-25T02:30' }),
        success('2026-10-25T01:30:10Z', { occ: '2026-10-25T02:30' }),
      ],
    ),
    expect: {
      occurrences: [row('2026-10-25T00:30:00Z', 'on_time'), row('2026-10-25T01:30:00Z', 'on_time')],
      pings: [matched('key', '2026-10-25T00:30:00Z'), matched('key', '2026-10-25T01:30:00Z')],
      incidents: [],
    },
  },
];

const pings: readonly Story[] = [
  {
    name: 'LED-017: the same occurrence run on several hosts is one duplicate, told once',
    history: told({ created: '09:30', until: '10:30' }, [
      success('10:00:05'),
      success('10:00:08', { source: 'host-b' }),
      success('10:20:00', { source: 'host-c' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 3, completedAt: at('10:00:05') })],
      pings: [matched('current', '10:00'), matched('again', '10:00'), matched('again', '10:00')],
      incidents: [incident('duplicate', ['10:00'], ['opened, 10:00:08, 10:00'])],
      status: 'up',
    },
  },
  {
    name: 'a duplicate ends with the next occurrence that runs just once',
    history: told({ created: '09:30', until: '11:30' }, [
      success('10:00:05'),
      success('10:00:08', { source: 'host-b' }),
      success('11:00:04'),
    ]),
    expect: { incidents: [incident('duplicate', ['10:00'], ['opened, 10:00:08, 10:00', 'resolved, 11:05'])] },
  },
  {
    name: 'PNG-001: the repeats of a lost reply are retries and count nowhere',
    history: told(
      { created: '09:30', until: '10:30' },
      ['10:00:05', '10:00:08', '10:00:11', '10:00:15', '10:00:20'].map((when) =>
        success(when, { occ: '2026-03-02T10:00Z' }),
      ),
    ),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 })],
      pings: [matched('key', '10:00'), ...Array.from({ length: 4 }, () => matched('retry', '10:00'))],
      incidents: [],
    },
  },
  {
    name: 'another body is another run',
    history: told({ created: '09:30', until: '10:30' }, [
      success('10:00:05', { body: 'a' }),
      success('10:00:15', { body: 'b' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 2 })],
      pings: [matched('current', '10:00'), matched('again', '10:00')],
      incidents: [incident('duplicate', ['10:00'], ['opened, 10:00:15, 10:00'])],
    },
  },
  {
    name: 'without a run id a retry comes within half the gap between the neighbouring instants',
    history: told({ created: '09:59:30', until: '10:00:40', settings: job({ schedules: EVERY_MINUTE }) }, [
      success('10:00:05'),
      success('10:00:34.999'),
      success('10:00:35'),
    ]),
    expect: { pings: [matched('current', '10:00'), matched('retry', '10:00'), matched('off_schedule', null)] },
  },
  {
    name: 'PNG-017: a new start does not hide that the older run takes too long',
    history: told(
      { created: '09:58', until: '10:16', settings: job({ schedules: [{ cron: '*/5 * * * *' }], maxRuntime: 600 }) },
      [start('10:00'), start('10:05'), start('10:10')],
    ),
    expect: {
      occurrences: [
        row('10:00', 'overdue'),
        row('10:05', 'overdue'),
        row('10:10', 'running'),
        row('10:15', 'expected'),
      ],
      pings: [matched('current', '10:00'), matched('current', '10:05'), matched('current', '10:10')],
      incidents: [incident('overrun', ['10:00', '10:05'], ['opened, 10:10, 10:00'])],
      status: 'down',
    },
  },
  {
    name: 'LED-012: the success of one keyed run does not hide another that is stuck',
    history: told(
      {
        created: '09:59:45',
        until: '10:01:10',
        settings: job({ schedules: [{ every: 30, anchor: 0 }], grace: 60, maxRuntime: 60 }),
      },
      [
        start('10:00:00', { occ: '2026-03-02T10:00Z' }),
        start('10:00:30', { occ: '2026-03-02T10:00:30Z' }),
        success('10:01:00', { occ: '2026-03-02T10:00:30Z' }),
      ],
    ),
    expect: {
      occurrences: [row('10:00', 'overdue'), row('10:00:30', 'on_time', { completions: 1 }), row('10:01', 'expected')],
      incidents: [incident('overrun', ['10:00'], ['opened, 10:01, 10:00'])],
    },
  },
  {
    name: 'an unnamed failure after the success is the last word',
    history: told({ created: '09:30', until: '10:30' }, [success('10:00:05'), fail('10:00:20')]),
    expect: {
      occurrences: [row('10:00', 'failed', { completions: 0, completedAt: null, wanted: true })],
      pings: [matched('current', '10:00'), matched('again', '10:00')],
      incidents: [incident('failed', ['10:00'], ['opened, 10:00:20, 10:00'])],
      status: 'down',
    },
  },
  {
    name: 'the failure of another run is shown and changes nothing',
    history: told({ created: '09:30', until: '10:30' }, [
      success('10:00:05', { rid: 'a' }),
      fail('10:00:20', { rid: 'b' }),
    ]),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 1 })], incidents: [] },
  },
  {
    name: 'a success after a failure pays the debt',
    history: told({ created: '09:30', until: '10:30' }, [fail('10:00:10'), success('10:03')]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1, wanted: false })],
      pings: [matched('current', '10:00'), matched('current', '10:00')],
      incidents: [incident('failed', ['10:00'], ['opened, 10:00:10, 10:00', 'resolved, 10:03'])],
    },
  },
  {
    name: 'constant run id: each hour is a new run',
    history: told({ created: '09:30', until: '11:30' }, [
      start('10:00:01', { rid: 'backup' }),
      success('10:00:30', { rid: 'backup' }),
      start('11:00:01', { rid: 'backup' }),
      success('11:00:30', { rid: 'backup' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 }), row('11:00', 'on_time', { completions: 1 })],
      pings: [
        matched('current', '10:00'),
        matched('rid', '10:00'),
        matched('current', '11:00'),
        matched('rid', '11:00'),
      ],
      incidents: [],
    },
  },
  {
    name: 'constant run id with successes only: a later hour is no retry of this one',
    history: told({ created: '09:30', until: '12:00:10' }, [
      success('10:00:05', { rid: 'backup' }),
      success('10:00:09', { rid: 'backup' }),
      success('11:00:05', { rid: 'backup' }),
      success('11:59:58', { rid: 'nightly' }),
      success('12:00:03', { rid: 'nightly' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 }), row('11:00', 'on_time'), row('12:00', 'on_time')],
      pings: [
        matched('current', '10:00'),
        matched('retry', '10:00'),
        matched('current', '11:00'),
        matched('current', '12:00'),
        matched('retry', '12:00'),
      ],
      incidents: [],
    },
  },
  {
    name: 'a start that arrives after the end of its run changes nothing',
    history: told({ created: '09:30', until: '10:30', settings: job({ maxRuntime: 60 }) }, [
      success('10:00:30'),
      start('10:00:31'),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 })],
      pings: [matched('current', '10:00'), matched('running', '10:00')],
      incidents: [],
    },
  },
  {
    name: 'a run within its max_runtime keeps the occurrence open past its window and ends on time',
    history: told(
      { created: '09:30', until: '10:55', settings: job({ grace: 300, usefulFor: 600, maxRuntime: 3600 }) },
      [start('10:02'), log('10:20'), success('10:50')],
    ),
    expect: {
      occurrences: [row('10:00', 'on_time', { completedAt: at('10:50') })],
      pings: [matched('current', '10:00'), matched('current', '10:00'), matched('running', '10:00')],
      incidents: [],
    },
  },
  {
    name: 'keys that name nothing are kept unmatched',
    history: told({ created: '09:30', until: '10:04' }, [
      success('10:00:05', { occ: 'yesterday' }),
      success('10:00:06', { occ: '2026-03-02T10:30Z' }),
      success('10:00:07', { occ: '2026-03-02T11:00Z' }),
      success('10:00:08', { occ: '2026-03-02' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'expected', { completions: 0 })],
      pings: Array.from({ length: 4 }, () => matched('unmatched', null)),
    },
  },
  {
    name: 'a spooled ping mends what silence had decided',
    history: told({ created: '09:30', until: '10:30' }, [success('10:20', { ownAt: '10:01' })]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completedAt: at('10:01') })],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 10:20'])],
      status: 'up',
    },
  },
];

const policies: readonly Story[] = [
  {
    name: 'LED-002 skip: 111 silent slots are all missed, with one notice',
    history: told({ ...LED_002, settings: job({ schedules: EVERY_MINUTE, missedRuns: 'skip', grace: 30 }) }, []),
    expect: {
      occurrences: [
        ...SLOTS_002.map((scheduledFor) => ({ scheduledFor, state: 'missed', wanted: false })),
        row('10:21', 'expected'),
      ],
      incidents: [ONE_NOTICE_002],
    },
  },
  {
    name: 'LED-002 coalesce: the newest is owed, the other 110 are coalesced, with one notice',
    history: told({ ...LED_002, settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', grace: 30 }) }, []),
    expect: {
      occurrences: [
        ...SLOTS_002.slice(0, -1).map((scheduledFor) => ({
          scheduledFor,
          state: 'coalesced',
          coveredBy: null,
          wanted: false,
        })),
        row('10:20', 'overdue', { wanted: true }),
        row('10:21', 'expected'),
      ],
      incidents: [ONE_NOTICE_002],
    },
  },
  {
    name: 'LED-002 catch_up: all 111 are owed, with one notice, and a backlog from the 101st on',
    history: told({ ...LED_002, settings: job({ schedules: EVERY_MINUTE, grace: 30 }) }, []),
    expect: {
      occurrences: [
        ...SLOTS_002.map((scheduledFor) => ({ scheduledFor, state: 'overdue', wanted: true })),
        row('10:21', 'expected'),
      ],
      incidents: [
        ONE_NOTICE_002,
        { ...ONE_NOTICE_002, kind: 'backlog', openedAt: at('10:10:30'), events: [event('opened, 10:10:30')] },
      ],
    },
  },
  {
    name: 'LED-003: seven silent days are one owed occurrence, 671 coalesced ones and one notice',
    history: told(
      {
        created: '01 23:59',
        until: '08 23:59',
        settings: job({ schedules: [{ cron: '*/15 * * * *' }], missedRuns: 'coalesce' }),
      },
      [],
    ),
    expect: {
      occurrences: everyMinutes(15, '02 00:00', 672).map((scheduledFor, i) => ({
        scheduledFor,
        state: i < 671 ? 'coalesced' : 'overdue',
        wanted: i === 671,
      })),
      incidents: [{ kind: 'missing', resolvedAt: null, events: [event('opened, 02 00:05, 02 00:00')] }],
    },
  },
  {
    name: 'skip: silent to the end of its window is missed, and told until a later one ends well',
    history: told({ created: '09:30', until: '11:30', settings: job({ missedRuns: 'skip' }) }, [success('11:02')]),
    expect: {
      occurrences: [row('10:00', 'missed', { wanted: false }), row('11:00', 'on_time')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 11:02'])],
    },
  },
  {
    name: 'skip: a run after the deadline and before the next occurrence is late',
    history: told({ created: '09:30', until: '10:50', settings: job({ missedRuns: 'skip' }) }, [success('10:30')]),
    expect: {
      occurrences: [row('10:00', 'late', { completedAt: at('10:30') })],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 10:30'])],
    },
  },
  {
    name: 'a completion after the window is expired: missing is left empty and ends silently',
    history: told({ created: '09:30', until: '10:50', settings: job({ usefulFor: 1800 }) }, [success('10:40')]),
    expect: {
      occurrences: [row('10:00', 'expired', { completions: 1, completedAt: at('10:40'), wanted: false })],
      pings: [matched('current', '10:00')],
      incidents: [
        incident('missing', ['(10:00)'], ['opened, 10:05, 10:00'], '10:40'),
        incident('expired', ['10:00'], ['opened, 10:40, 10:00, before, missing']),
      ],
      status: 'down',
    },
  },
  {
    name: 'coalesce: the completion of a later one covers the older at once',
    history: told({ created: '09:30', until: '11:30', settings: job({ missedRuns: 'coalesce' }) }, [success('11:02')]),
    expect: {
      occurrences: [row('10:00', 'coalesced', { coveredBy: at('11:00') }), row('11:00', 'on_time')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 11:02'])],
    },
  },
  {
    name: 'coalesce: the end of the next grace covers too, and covered_by is filled by the first later completion',
    history: told({ created: '09:30', until: '11:40', settings: job({ missedRuns: 'coalesce' }) }, [success('11:30')]),
    expect: {
      occurrences: [row('10:00', 'coalesced', { coveredBy: at('11:00') }), row('11:00', 'late')],
      incidents: [incident('missing', ['10:00', '11:00'], ['opened, 10:05, 10:00', 'resolved, 11:30'])],
    },
  },
  {
    name: 'coalesce: a failed one stays failed, is covered by a later completion and owed no longer',
    history: told({ created: '09:30', until: '11:30', settings: job({ missedRuns: 'coalesce' }) }, [
      fail('10:01'),
      success('11:02'),
    ]),
    expect: {
      occurrences: [row('10:00', 'failed', { coveredBy: at('11:00'), wanted: false }), row('11:00', 'on_time')],
      incidents: [incident('failed', ['10:00'], ['opened, 10:01, 10:00', 'resolved, 11:02'])],
      status: 'up',
    },
  },
  {
    name: 'coalesce: a running one is left to its run, and follows when that passes its limit',
    history: told({ created: '09:30', until: '12:03', settings: job({ missedRuns: 'coalesce', maxRuntime: 7200 }) }, [
      start('10:01'),
    ]),
    expect: {
      occurrences: [row('10:00', 'coalesced'), row('11:00', 'overdue'), row('12:00', 'expected')],
      incidents: [
        incident('missing', ['11:00'], ['opened, 11:05, 11:00']),
        incident('overrun', ['10:00'], ['opened, 12:01, 10:00']),
      ],
    },
  },
  {
    name: 'of two rules that settle an occurrence the earlier holds: missed at 11:00, not coalesced at 11:05',
    history: told({ created: '09:30', until: '11:30', settings: job({ missedRuns: 'coalesce', usefulFor: 3600 }) }, []),
    expect: { occurrences: [row('10:00', 'missed'), row('11:00', 'overdue')] },
  },
  {
    name: 'coalesced yields to evidence: its own run that ends later makes it late',
    history: told({ created: '09:30', until: '11:40', settings: job({ missedRuns: 'coalesce' }) }, [
      start('10:01', { rid: 'slow' }),
      success('11:30', { rid: 'slow' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'late', { coveredBy: null }), row('11:00', 'overdue')],
      pings: [matched('current', '10:00'), matched('rid', '10:00')],
    },
  },
];

const heartbeats: readonly Story[] = [
  {
    name: 'heartbeat: any success settles the open one, however early, and anchors the next to its second',
    history: told({ created: '09:00', until: '10:10:30', settings: heartbeat() }, [success('09:10:20.500')]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completedAt: at('09:10:20.500') }), row('10:10:20', 'expected')],
      pings: [matched('current', '10:00')],
      incidents: [],
    },
  },
  {
    name: 'heartbeat: a second end within the same second belongs to the first',
    history: told({ created: '09:00', until: '10:10:30', settings: heartbeat() }, [
      success('09:10:20.100'),
      success('09:10:20.900', { source: 'host-b' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 2 }), row('10:10:20', 'expected')],
      pings: [matched('current', '10:00'), matched('again', '10:00')],
      incidents: [],
    },
  },
  {
    name: 'heartbeat: silence leaves one overdue until the next ping, which is late and anchors anew',
    history: told({ created: '09:00', until: '14:00:00', settings: heartbeat() }, [success('13:00')]),
    expect: {
      occurrences: [row('10:00', 'late', { wanted: false }), row('14:00', 'expected')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:10, 10:00', 'resolved, 13:00'])],
    },
  },
  {
    name: 'heartbeat: a failure settles the open one, and the next success ends the incident',
    history: told({ created: '09:00', until: '10:00', settings: heartbeat() }, [fail('09:30'), success('09:40')]),
    expect: {
      occurrences: [row('10:00', 'failed', { wanted: false }), row('10:30', 'on_time')],
      incidents: [incident('failed', ['10:00'], ['opened, 09:30, 10:00', 'resolved, 09:40'])],
    },
  },
  {
    name: 'heartbeat: a ping in the second of the creation counts, and the next instant is free',
    history: told({ created: '09:00:00.400', until: '10:00:01', settings: heartbeat() }, [success('09:00:00.450')]),
    expect: {
      occurrences: [row('10:00', 'on_time'), row('10:00:01', 'expected')],
      pings: [matched('current', '10:00')],
    },
  },
  {
    name: 'heartbeat: pause closes it, a ping meanwhile is shown on the newest, resume anchors anew',
    history: told({ created: '09:00', until: '12:10', settings: heartbeat() }, [
      success('09:30'),
      pause('10:35'),
      success('10:45', { body: 'still here' }),
      resume('11:10'),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'on_time'),
        row('10:30', 'skipped', { reason: 'paused', completions: 1 }),
        row('12:10', 'expected'),
      ],
      pings: [matched('current', '10:00'), matched('again', '10:30')],
      incidents: [],
    },
  },
];

const trust: readonly Story[] = [
  {
    name: 'EVL-001: what was due while nothing could be heard is unknown after the settle time, and nobody is called',
    history: told(
      { created: '00:00', until: '02:40', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [],
      [{ kind: 'blind', after: '02:00', until: '02:20' }],
    ),
    expect: { occurrences: [row('02:10', 'unknown', { wanted: false })], incidents: [], status: 'unknown' },
  },
  {
    name: 'EVL-001: until the settle time is over it is still awaited',
    history: told(
      { created: '00:00', until: '02:29:59.999', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [],
      [{ kind: 'blind', after: '02:00', until: '02:20' }],
    ),
    expect: { occurrences: [row('02:10', 'expected')], incidents: [], status: 'new' },
  },
  {
    name: 'a late spooled ping makes an unknown one what it was',
    history: told(
      { created: '00:00', until: '02:50', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [success('02:45', { ownAt: '02:11' })],
      [{ kind: 'blind', after: '02:00', until: '02:20' }],
    ),
    expect: { occurrences: [row('02:10', 'on_time', { completedAt: at('02:11') })], incidents: [], status: 'up' },
  },
  {
    name: 'a deadline in a short gap between beats is judged 60 s after the gap',
    history: told(
      { created: '00:00', until: '02:20', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [],
      [{ kind: 'gap', after: '02:14:50', until: '02:15:10' }],
    ),
    expect: {
      occurrences: [row('02:10', 'overdue')],
      incidents: [incident('missing', ['02:10'], ['opened, 02:16:10, 02:10'])],
    },
  },
  {
    name: 'a ping right after a short gap calls nobody, and its completion goes by the true deadline',
    history: told(
      { created: '00:00', until: '02:20', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [success('02:15:30')],
      [{ kind: 'gap', after: '02:14:50', until: '02:15:10' }],
    ),
    expect: { occurrences: [row('02:10', 'late')], incidents: [] },
  },
  {
    name: 'no duplicate is called inside a blind window',
    history: told(
      { created: '09:30', until: '10:30' },
      [success('10:00:05'), success('10:06', { source: 'host-b', ownAt: '10:03' })],
      [{ kind: 'blind', after: '10:01', until: '10:05' }],
    ),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 2 })], incidents: [] },
  },
];

const decisions: readonly Story[] = [
  {
    name: 'PNG-021: pings of a paused job are kept, a second pause changes nothing, the first due is after resume',
    history: told({ created: '09:30', until: '12:10' }, [
      pause('09:50'),
      success('10:00:05'),
      pause('10:30'),
      resume('11:30'),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'skipped', { reason: 'paused', completions: 1 }),
        row('11:00', 'skipped', { reason: 'paused' }),
        row('12:00', 'overdue'),
      ],
      pings: [matched('again', '10:00')],
      incidents: [incident('missing', ['12:00'], ['opened, 12:05, 12:00'])],
    },
  },
  {
    name: 'pause closes what is overdue under coalesce, and its incident ends silently',
    history: told({ created: '09:30', until: '10:50', settings: job({ missedRuns: 'coalesce' }) }, [
      pause('10:10'),
      resume('10:40'),
    ]),
    expect: {
      occurrences: [row('10:00', 'skipped', { reason: 'paused', wanted: false })],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'], '10:10')],
      status: 'up',
    },
  },
  {
    name: 'pause leaves a debt of catch_up, which opens its incident anew at resume',
    history: told({ created: '09:30', until: '10:50' }, [pause('10:10'), resume('10:40')]),
    expect: {
      occurrences: [row('10:00', 'overdue', { wanted: true })],
      incidents: [
        incident('missing', ['10:00'], ['opened, 10:05, 10:00'], '10:10'),
        incident('missing', ['10:00'], ['opened, 10:40, 10:00']),
      ],
      status: 'down',
    },
  },
  {
    name: 'a job that is still paused counts nobody as missing',
    history: told({ created: '09:30', until: '10:50' }, [pause('09:50')]),
    expect: {
      occurrences: [row('10:00', 'skipped', { reason: 'paused', wanted: false })],
      incidents: [],
      status: 'paused',
    },
  },
  {
    name: 'SCH-073: an edit to every five minutes begins with the first instant after it',
    history: told({ created: '00:00', until: '10:05:30', settings: job({ schedules: [{ cron: '0 3 * * *' }] }) }, [
      success('03:00:10'),
      edit('10:00', job({ schedules: [{ cron: '*/5 * * * *' }] })),
    ]),
    expect: { occurrences: [row('03:00', 'on_time'), row('10:05', 'expected')], incidents: [] },
  },
  {
    name: 'SCH-073: an edit to 09:00 at 10:00 does not make today missing',
    history: told({ created: '00:00', until: '03 08:00', settings: job({ schedules: [{ cron: '0 3 * * *' }] }) }, [
      success('03:00:10'),
      edit('10:00', job({ schedules: [{ cron: '0 9 * * *' }] })),
    ]),
    expect: { occurrences: [row('03:00', 'on_time')], incidents: [], status: 'up' },
  },
  {
    name: 'SCH-073: an occurrence within its grace is skipped by an edit of the schedule',
    history: told({ created: '09:30', until: '10:20' }, [edit('10:02', job({ schedules: [{ cron: '30 * * * *' }] }))]),
    expect: { occurrences: [row('10:00', 'skipped', { reason: 'schedule_changed' })], incidents: [] },
  },
  {
    name: 'SCH-073: it lives on if the new schedule is due at its instant too',
    history: told({ created: '09:30', until: '10:20' }, [
      edit('10:02', job({ schedules: [{ cron: '*/30 * * * *' }] })),
    ]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'])],
    },
  },
  {
    name: 'SCH-073: what is owed stays owed',
    history: told({ created: '09:30', until: '10:20' }, [edit('10:10', job({ schedules: [{ cron: '30 * * * *' }] }))]),
    expect: {
      occurrences: [row('10:00', 'overdue', { wanted: true })],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'])],
    },
  },
  {
    name: 'a running occurrence lives on through an edit of the schedule',
    history: told({ created: '09:30', until: '10:20' }, [
      start('10:01'),
      edit('10:02', job({ schedules: [{ cron: '30 * * * *' }] })),
      success('10:04'),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time')],
      pings: [matched('current', '10:00'), matched('running', '10:00')],
    },
  },
  {
    name: 'a longer grace applies to what is open',
    history: told({ created: '09:30', until: '10:50' }, [edit('10:03', job({ grace: 3600 }))]),
    expect: { occurrences: [row('10:00', 'expected')], incidents: [] },
  },
  {
    name: 'a deadline that an edit moves into the past acts at the edit',
    history: told({ created: '09:30', until: '10:20', settings: job({ grace: 1800 }) }, [
      edit('10:10', job({ grace: 60 })),
    ]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:10, 10:00'])],
    },
  },
  {
    name: 'a person skips an overdue occurrence and the incident ends',
    history: told({ created: '09:30', until: '10:50' }, [settle('10:20', '10:00', 'skipped')]),
    expect: {
      occurrences: [row('10:00', 'skipped', { reason: 'operator', wanted: false })],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 10:20'])],
    },
  },
  {
    name: 'a person calls a later one done, and coalesce covers the older with it',
    history: told({ created: '09:30', until: '11:40', settings: job({ missedRuns: 'coalesce' }) }, [
      settle('11:02', '11:00', 'on_time'),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'coalesced', { coveredBy: at('11:00') }),
        row('11:00', 'on_time', { reason: 'operator', completions: 0, completedAt: null }),
      ],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 11:02'])],
    },
  },
];

const incidents: readonly Story[] = [
  {
    name: "an unpaid debt does not hide tonight's miss: it is told when one between them ended well",
    history: told({ created: '09:30', until: '12:20' }, [
      success('11:00:05'),
      success('12:10', { occ: '2026-03-02T10:00Z' }),
      success('12:11', { occ: '2026-03-02T12:00Z' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'late'), row('11:00', 'on_time'), row('12:00', 'late')],
      pings: [matched('current', '11:00'), matched('key', '10:00'), matched('key', '12:00')],
      incidents: [
        incident('missing', ['10:00', '12:00'], ['opened, 10:05, 10:00', 'reminded, 12:05, 12:00', 'resolved, 12:11']),
      ],
    },
  },
  {
    name: 'one that joins without anything good in between is only listed',
    history: told({ created: '09:30', until: '11:20' }, []),
    expect: { incidents: [incident('missing', ['10:00', '11:00'], ['opened, 10:05, 10:00'])] },
  },
  {
    name: 'a missing one that fails moves to failed, which says what it was before',
    history: told({ created: '09:30', until: '10:50' }, [fail('10:20')]),
    expect: {
      occurrences: [row('10:00', 'failed', { wanted: true })],
      incidents: [
        incident('missing', ['(10:00)'], ['opened, 10:05, 10:00'], '10:20'),
        incident('failed', ['10:00'], ['opened, 10:20, 10:00, before, missing']),
      ],
    },
  },
  {
    name: 'a start ends not_started, and the deadline can still open late',
    history: told({ created: '09:30', until: '10:12', settings: job({ startWithin: 120, grace: 600 }) }, [
      start('10:04'),
    ]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      incidents: [
        incident('not_started', ['10:00'], ['opened, 10:02, 10:00', 'resolved, 10:04']),
        incident('late', ['10:00'], ['opened, 10:10, 10:00']),
      ],
      status: 'late',
    },
  },
  {
    name: 'a start after the deadline moves it from not_started to late at once',
    history: told({ created: '09:30', until: '10:12', settings: job({ startWithin: 120 }) }, [start('10:07')]),
    expect: {
      incidents: [
        incident('not_started', ['(10:00)'], ['opened, 10:02, 10:00'], '10:07'),
        incident('late', ['10:00'], ['opened, 10:07, 10:00, before, not_started']),
      ],
      status: 'late',
    },
  },
  {
    name: 'an incident stays open while the newest settled occurrence did not end well',
    history: told({ created: '09:30', until: '11:50', settings: job({ usefulFor: 1800 }) }, []),
    expect: {
      occurrences: [row('10:00', 'missed'), row('11:00', 'missed')],
      incidents: [incident('missing', ['10:00', '11:00'], ['opened, 10:05, 10:00'])],
      status: 'down',
    },
  },
];

/** The exact instants and the rarer orders of events: each of these was wrong once, or would be after one slip. */
const edges: readonly Story[] = [
  {
    name: 'a start in the very instant of the deadline is not timed by max_runtime any more',
    history: told({ created: '09:30', until: '10:30', settings: job({ maxRuntime: 1800 }) }, [
      start('10:05:00'),
      success('10:20'),
    ]),
    expect: { occurrences: [row('10:00', 'late', { completedAt: at('10:20') })] },
  },
  {
    name: 'a completion in the very instant at which the window ends is expired',
    history: told({ created: '09:30', until: '10:40', settings: job({ usefulFor: 1800 }) }, [success('10:30:00')]),
    expect: { occurrences: [row('10:00', 'expired', { completedAt: at('10:30') })] },
  },
  {
    name: 'the next unnamed start from the same source gives the older run up',
    history: told(
      { created: '09:58', until: '10:07', settings: job({ schedules: [{ cron: '*/5 * * * *' }], grace: 900 }) },
      [start('10:01'), start('10:06')],
    ),
    expect: { occurrences: [row('10:00', 'expected'), row('10:05', 'running')] },
  },
  {
    name: 'a run that is never ended is forgotten after a day, also within a long grace',
    history: told(
      { created: '09:30', until: '03 10:30', settings: job({ schedules: [{ cron: '0 10 * * *' }], grace: 172_800 }) },
      [start('10:01')],
    ),
    expect: { occurrences: [row('10:00', 'expected'), row('03 10:00', 'expected')], incidents: [] },
  },
  {
    name: 'a ping just as near to the next occurrence as to the last completion is off schedule',
    history: told({ created: '09:30', until: '10:40' }, [success('10:00:00'), success('10:30:00', { body: 'other' })]),
    expect: { pings: [matched('current', '10:00'), matched('off_schedule', null)] },
  },
  {
    name: 'what nobody started in time waits all the same when a blind window follows',
    history: told(
      { created: '09:30', until: '10:20', settings: job({ startWithin: 60 }) },
      [],
      [{ kind: 'blind', after: '10:02', until: '10:06' }],
    ),
    expect: {
      occurrences: [row('10:00', 'unknown')],
      incidents: [incident('not_started', ['10:00'], ['opened, 10:01, 10:00', 'resolved, 10:16'])],
    },
  },
  {
    name: 'a deadline that two short gaps put off acts 60 s after the second',
    history: told(
      { created: '00:00', until: '02:20', settings: job({ schedules: [{ cron: '10 2 * * *' }] }) },
      [],
      [
        { kind: 'gap', after: '02:14:50', until: '02:15:10' },
        { kind: 'gap', after: '02:16:00', until: '02:16:20' },
      ],
    ),
    expect: { incidents: [incident('missing', ['02:10'], ['opened, 02:17:20, 02:10'])] },
  },
  {
    name: 'coalesce: a later completion leaves a running one to its run',
    history: told({ created: '09:30', until: '11:10', settings: job({ missedRuns: 'coalesce', maxRuntime: 7200 }) }, [
      start('10:01', { rid: 'a' }),
      success('11:02', { rid: 'b' }),
    ]),
    expect: { occurrences: [row('10:00', 'running'), row('11:00', 'on_time')], incidents: [] },
  },
  {
    name: 'an edit to coalesce calls nobody about what is covered already',
    history: told({ created: '09:30', until: '11:10', settings: job({ grace: 7200 }) }, [
      success('11:00:05'),
      edit('11:05:30', job({ missedRuns: 'coalesce' })),
    ]),
    expect: {
      occurrences: [row('10:00', 'coalesced', { coveredBy: at('11:00') }), row('11:00', 'on_time')],
      incidents: [],
    },
  },
  {
    name: 'what an edit lets go from one incident joins the one that it belongs to now',
    history: told({ created: '09:30', until: '10:20', settings: job({ grace: 60 }) }, [
      edit('10:10', job({ grace: 3600, startWithin: 300 })),
    ]),
    expect: {
      occurrences: [row('10:00', 'expected')],
      incidents: [
        incident('missing', ['10:00'], ['opened, 10:01, 10:00', 'resolved, 10:10']),
        incident('not_started', ['10:00'], ['opened, 10:10, 10:00']),
      ],
    },
  },
  {
    name: 'an incident does not end and open again in one instant in which one is given up and another goes missing',
    history: told(
      { created: '09:55', until: '10:31', settings: job({ schedules: [{ cron: '*/10 * * * *' }], grace: 60 }) },
      [success('10:10:05'), edit('10:22', job({ schedules: [{ cron: '*/10 * * * *' }], grace: 600, usefulFor: 1800 }))],
    ),
    expect: {
      occurrences: [row('10:00', 'missed'), row('10:10', 'on_time'), row('10:20', 'overdue'), row('10:30', 'expected')],
      incidents: [incident('missing', ['10:00', '10:20'], ['opened, 10:01, 10:00', 'reminded, 10:21, 10:20'])],
    },
  },
  {
    name: 'a run id goes on with its own run on the occurrence that the key names: no duplicate',
    history: told({ created: '08:30', until: '10:30' }, [
      success('10:00:05', { rid: 'nightly' }),
      success('10:01', { rid: 'nightly', occ: '2026-03-02T09:00Z' }),
      success('10:20', { rid: 'nightly', occ: '2026-03-02T10:00Z' }),
    ]),
    expect: {
      occurrences: [row('09:00', 'late', { completions: 1 }), row('10:00', 'on_time', { completions: 1 })],
      incidents: [incident('missing', ['09:00'], ['opened, 09:05, 09:00', 'resolved, 10:01'])],
    },
  },
  {
    name: 'the last word of a run is the last by its own instant, whatever came in between',
    history: told({ created: '09:30', until: '10:30' }, [
      success('10:00:10', { rid: 'a' }),
      success('10:00:50', { rid: 'a', exitCode: 0 }),
      fail('10:02', { rid: 'a', ownAt: '10:00:30' }),
    ]),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 1 })], incidents: [] },
  },
  {
    name: 'a second completion dated into a pause is no duplicate, also if it arrives after resume',
    history: told({ created: '09:30', until: '10:30' }, [
      success('10:00:05'),
      pause('10:10'),
      resume('10:20'),
      success('10:25', { ownAt: '10:15' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 2 })],
      pings: [matched('current', '10:00'), matched('again', '10:00')],
      incidents: [],
    },
  },
  {
    name: 'what lived through a pause is judged by its own instants, under the settings in force at resume',
    history: told({ created: '09:30', until: '12:40' }, [
      pause('10:10'),
      edit('10:20', job({ missedRuns: 'coalesce', usefulFor: 7200 })),
      resume('12:30'),
    ]),
    expect: { occurrences: [row('10:00', 'coalesced'), row('11:00', 'skipped'), row('12:00', 'skipped')] },
  },
  {
    name: 'what was covered in a pause is coalesced at resume',
    history: told({ created: '09:30', until: '11:40' }, [
      settle('10:06', '11:00', 'on_time'),
      pause('10:10'),
      edit('10:20', job({ missedRuns: 'coalesce', usefulFor: 300 })),
      resume('11:30'),
    ]),
    expect: { occurrences: [row('10:00', 'coalesced', { coveredBy: at('11:00') }), row('11:00', 'on_time')] },
  },
  {
    name: 'what was due in a pause is skipped by the pause, whatever schedules follow before resume',
    history: told({ created: '09:15', until: '10:25', settings: job({ early: 1800, maxRuntime: 60 }) }, [
      pause('09:30'),
      start('09:40', { occ: '2026-03-02T10:00Z', ownAt: '09:31' }),
      edit('10:10', job({ schedules: [{ cron: '30 * * * *' }] })),
      resume('10:20'),
    ]),
    expect: { occurrences: [row('10:00', 'skipped', { reason: 'paused' })], incidents: [] },
  },
  {
    name: 'heartbeat: one that is running lives through a pause, past its instant',
    history: told({ created: '09:00', until: '10:40', settings: heartbeat() }, [
      start('09:50'),
      pause('09:55'),
      resume('10:30'),
    ]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      incidents: [incident('late', ['10:00'], ['opened, 10:30, 10:00'])],
    },
  },
  {
    name: 'heartbeat: an end dated into a pause anchors one that is awaited, not skipped for ever',
    history: told({ created: '09:00', until: '11:40', settings: heartbeat() }, [
      start('09:50'),
      pause('10:00:30'),
      resume('11:30'),
      success('11:31', { ownAt: '10:05' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time'), row('11:05', 'overdue')],
      incidents: [
        incident('late', ['10:00'], ['opened, 11:30, 10:00', 'resolved, 11:31']),
        incident('missing', ['11:05'], ['opened, 11:31, 11:05']),
      ],
    },
  },
  {
    name: 'heartbeat: a run that turns out to belong to the one before leaves the open one unbegun',
    history: told({ created: '09:00', until: '10:45', settings: heartbeat() }, [
      success('09:30'),
      start('09:50', { ownAt: '09:29' }),
      success('09:51', { ownAt: '09:29:30' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 2 }), row('10:30', 'overdue')],
      pings: [matched('current', '10:00'), matched('current', '10:30'), matched('again', '10:00')],
      incidents: [incident('missing', ['10:30'], ['opened, 10:40, 10:30'])],
    },
  },
  {
    name: 'heartbeat: an end dated before the creation settles nothing and anchors nothing',
    history: told({ created: '09:00', until: '10:20', settings: heartbeat() }, [
      start('09:10', { rid: 'a' }),
      success('09:20', { rid: 'a', ownAt: '08:20' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      pings: [matched('current', '10:00'), matched('off_schedule', null)],
      incidents: [incident('missing', ['10:00'], ['opened, 10:10, 10:00'])],
    },
  },
  {
    name: 'a job that becomes a heartbeat is awaited as one, whatever debt is left from before',
    history: told({ created: '08:30', until: '11:25' }, [edit('09:30', heartbeat()), success('10:20')]),
    expect: {
      occurrences: [row('09:00', 'overdue'), row('10:30', 'on_time'), row('11:20', 'expected')],
      pings: [matched('current', '10:30')],
    },
  },
  {
    name: 'a run begun before the job became a heartbeat ends its own occurrence and anchors the heartbeat',
    history: told({ created: '08:30', until: '10:45', settings: job({ maxRuntime: 7200 }) }, [
      start('09:01'),
      edit('09:30', heartbeat({ maxRuntime: 7200 })),
      success('09:50'),
    ]),
    expect: {
      occurrences: [row('09:00', 'on_time', { completedAt: at('09:50') })],
      pings: [matched('current', '09:00'), matched('running', '09:00')],
      incidents: [],
    },
  },
];

export const stories: readonly Story[] = [
  ...schedules,
  ...pings,
  ...policies,
  ...heartbeats,
  ...trust,
  ...decisions,
  ...incidents,
  ...edges,
  ...owedStories,
  ...alertStories,
];
