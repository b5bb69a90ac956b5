import type { Context } from 'hono';
import { formatInstant } from '../../core/time.ts';
import { getChannel } from '../../store/channels.ts';
import { type Attempt, type Notification, pageOfAttempts, pageOfNotifications } from '../../store/delivery-log.ts';
import type { Caller } from './auth.ts';
import { slugOf } from './bring-to-now.ts';
import { noSuchChannel } from './channels.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { incidentIdOf, instantOrNull, noSuchIncident } from './incidents.ts';
import { LIST_SIZE, limitParameter, numberCursor, pageOf, readQuery } from './query.ts';
import { invalid } from './refusal.ts';
import { attemptSchema, listOf, listQuery, notificationSchema } from './schemas.ts';
import { isSlug } from './slug.ts';

/** What was to be told, what was tried, and what became of it. */
export function deliveryLogEndpoints(deps: ApiDeps): readonly Endpoint[] {
  const common = { method: 'get', query: listQuery(LIST_SIZE) } as const;
  return [
    {
      ...common,
      tag: 'Incidents',
      path: '/incidents/{id}/notifications',
      id: 'listNotifications',
      summary: 'Every event of an incident to every channel, oldest first, and what became of it',
      answers: {
        200: { description: 'A page of notifications.', schema: listOf('notifications', notificationSchema) },
        400: problemAnswer('A parameter is wrong.'),
        404: problemAnswer('There is no such incident.'),
      },
      run: (c, caller) => notifications(deps, c, caller),
    },
    {
      ...common,
      tag: 'Channels',
      path: '/channels/{slug}/attempts',
      id: 'listAttempts',
      summary: 'Every attempt to send a message to a channel, newest first',
      answers: {
        200: { description: 'A page of attempts.', schema: listOf('attempts', attemptSchema) },
        400: problemAnswer('A parameter is wrong.'),
        404: problemAnswer('There is no such channel.'),
      },
      run: (c, caller) => attempts(deps, c, caller),
    },
  ];
}

async function notifications({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const from = numberCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const incidentId = incidentIdOf(c);
  if (incidentId === null) return noSuchIncident();
  const found = await database.transaction((tx) =>
    pageOfNotifications(tx, { projectId, incidentId }, { from, limit: limit + 1 }),
  );
  if (found === null) return noSuchIncident();
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return Response.json({ notifications: page.map(notificationJson), next_cursor: nextCursor });
}

function notificationJson({ channel, event, type, again, state, reason, attempts, ...row }: Notification) {
  return {
    channel,
    event,
    type,
    reminded_by: type === 'incident.reminded' ? (again ?? 'occurrence') : null,
    state,
    reason,
    attempts,
    message_id: row.messageId,
    not_before: instantOrNull(row.notBefore),
    delivered_at: instantOrNull(row.deliveredAt),
  };
}

async function attempts({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const from = numberCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const slug = slugOf(c);
  const found = await database.transaction(async (tx) => {
    const channel = isSlug(slug) ? await getChannel(tx, projectId, slug) : null;
    return channel && pageOfAttempts(tx, channel.id, { from, limit: limit + 1 });
  });
  if (found === null) return noSuchChannel();
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return Response.json({ attempts: page.map(attemptJson), next_cursor: nextCursor });
}

function attemptJson({ at, outcome, reason, messageId, incidents, notices }: Attempt) {
  return { at: formatInstant(at), outcome, reason, message_id: messageId, incidents, notices };
}
