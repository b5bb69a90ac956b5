import type { IncidentKind, IncidentMessage, MessageJob, MessageOccurrence } from '../../src/core/message.ts';
import type { Batch, BatchEvent, ChannelContext } from '../../src/notify/channel.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();

/** An installation that may reach the receivers of a test. */
export function channelContext(changes: Partial<ChannelContext> = {}): ChannelContext {
  return {
    publicUrl: 'https://rollcall.example.org',
    outboundAllow: ['127.0.0.0/8'],
    smtpUrl: null,
    mailFrom: 'Rollcall <alerts@example.org>',
    zones,
    ...changes,
  };
}

export const billing: MessageJob = {
  slug: 'nightly-billing',
  name: 'Nightly billing',
  tags: ['billing', 'prod'],
  zone: 'Europe/Berlin',
};

/** The second pass of 02:30 on the night the clocks go back in Berlin. */
export const secondPass: MessageOccurrence = {
  key: '2026-10-25T02:30+01:00',
  scheduledFor: Date.parse('2026-10-25T01:30:00Z'),
  state: 'overdue',
};

export type EventChanges = {
  readonly type?: IncidentMessage['type'];
  readonly kind?: IncidentKind;
  readonly id?: number;
  readonly job?: Partial<MessageJob>;
  readonly occurrences?: readonly MessageOccurrence[];
  readonly count?: number;
  readonly facts?: Partial<IncidentMessage['facts']>;
};

/** One event: the job of Berlin is missing its run, unless the changes say otherwise. */
export function incidentEvent(changes: EventChanges = {}): IncidentMessage {
  const {
    type = 'incident.opened',
    kind = 'missing',
    id = 1,
    job = {},
    occurrences = [secondPass],
    facts = {},
  } = changes;
  const isOver = type === 'incident.resolved';
  return {
    type,
    incident: {
      id,
      kind,
      state: isOver ? 'resolved' : 'open',
      openedAt: Date.parse('2026-10-25T01:35:00Z'),
      resolvedAt: isOver ? Date.parse('2026-10-25T03:10:00Z') : null,
      occurrenceCount: changes.count ?? occurrences.length,
    },
    job: { ...billing, ...job },
    occurrences,
    facts: {
      before: null,
      expectedBy: Date.parse('2026-10-25T01:35:00Z'),
      lastCompletedState: null,
      completions: null,
      runs: null,
      lastCompleted: '2026-10-24T02:30+02:00',
      missedRuns: 'catch_up',
      exitCode: null,
      output: null,
      detail: null,
      ...facts,
    },
  };
}

export function batchOf(...events: readonly BatchEvent[]): Batch {
  return { id: 'msg_0123456789abcdef', sentAt: Date.parse('2026-10-25T01:35:06Z'), inReplyTo: null, events };
}
