import type { Context } from 'hono';
import { type Instant, parseDuration, parseInstant } from '../../core/time.ts';
import { acknowledge, snooze } from '../../store/acknowledge.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { fieldValue, readFields, refuseField } from './fields.ts';
import { bringDueToNow, incidentAnswer, incidentIdOf, noSuchIncident } from './incidents.ts';
import { invalid, unreadable } from './refusal.ts';
import { incidentSchema, snoozeSchema } from './schemas.ts';

const COMMON = { tag: 'Incidents', method: 'post' } as const;
const NO_INCIDENT = problemAnswer('There is no such incident.');

/** A person's word on an incident: it is known, or it is to be quiet for a while. */
export function acknowledgeEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      ...COMMON,
      path: '/incidents/{id}/ack',
      id: 'ackIncident',
      summary: 'Says that the incident is known: nobody is reminded of it any more',
      description: 'Its end is told, and so is a new run that fails after one that went well. Once is enough.',
      answers: {
        200: { description: 'The incident; one that has ended stays as it is.', schema: incidentSchema },
        404: NO_INCIDENT,
      },
      run: (c, caller) => ack(deps, c, caller),
    },
    {
      ...COMMON,
      path: '/incidents/{id}/snooze',
      id: 'snoozeIncident',
      summary: 'Lets nothing of the incident go out for a while',
      description: 'If it is still open then, one message says so. If it has ended by then, nothing is said.',
      body: snoozeSchema,
      answers: {
        200: { description: 'The incident; one that has ended stays as it is.', schema: incidentSchema },
        400: problemAnswer('The instant cannot be read, is past, or is more than 366 days away.'),
        404: NO_INCIDENT,
        413: problemAnswer('The body is too large.'),
      },
      run: (c, caller) => answerSnooze(deps, c, caller),
    },
  ];
}

async function ack(deps: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const incidentId = incidentIdOf(c);
  if (incidentId === null) return noSuchIncident();
  await bringDueToNow(deps, projectId, null);
  await deps.database.transaction((tx) => acknowledge(tx, { projectId, incidentId, actor }));
  return incidentAnswer(deps, projectId, incidentId);
}

async function answerSnooze(deps: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const fields = readFields(body.value, ['until']);
  const until = readUntil(fieldValue(fields, 'until'));
  if (!until.ok) refuseField(fields, 'until', until.reason);
  const incidentId = incidentIdOf(c);
  if (!until.ok || fields.errors.length > 0) return invalid(fields.errors);
  if (incidentId === null) return noSuchIncident();
  await bringDueToNow(deps, projectId, null);
  const answer = await deps.database.transaction((tx) =>
    snooze(tx, { projectId, incidentId, actor }, until.value(tx.now)),
  );
  if (answer === 'past' || answer === 'far') return invalid([{ path: 'until', message: WRONG[answer] }]);
  return incidentAnswer(deps, projectId, incidentId);
}

const HOW = 'write an RFC 3339 instant such as 2026-03-08T09:00:00+01:00, a duration from now such as "4h", or null';

const WRONG = { past: `must lie in the future: ${HOW}`, far: 'must be at most 366d away' };

type Until =
  | { readonly ok: true; readonly value: (now: Instant) => Instant | null }
  | { readonly ok: false; readonly reason: string };

/** An instant, a duration from now, or null for the end of the snooze. */
export function readUntil(value: unknown): Until {
  if (value === null) return { ok: true, value: () => null };
  if (typeof value !== 'string') return { ok: false, reason: value === undefined ? `is required: ${HOW}` : HOW };
  if (/[T:]/i.test(value) && !value.startsWith('P')) {
    const instant = parseInstant(value);
    return instant.ok ? { ok: true, value: () => instant.value } : instant;
  }
  const duration = parseDuration(value);
  if (!duration.ok) return { ok: false, reason: HOW };
  // No time at all is no later than now, not the next whole second.
  const later = (now: Instant): Instant => Math.ceil(now / 1000 + duration.value) * 1000;
  return { ok: true, value: duration.value === 0 ? (now) => now : later };
}
