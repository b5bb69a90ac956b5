import type { Context } from 'hono';
import { formatDuration, formatInstant } from '../../core/time.ts';
import { channelSchema as channelInputSchema, parseChannel, redact, sendTest } from '../../notify/registry.ts';
import { type ChannelRow, deleteChannel, getChannel, listChannels, upsertChannel } from '../../store/channels.ts';
import { recordAudit } from '../../store/job-writing.ts';
import { problem } from '../problem.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import { channelFields, readChannelFields } from './channel-fields.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { LIST_SIZE, limitParameter, pageOf, readQuery, slugCursor } from './query.ts';
import { invalid, notFound, unreadable } from './refusal.ts';
import { channelSchema, deliverySchema, listOf, listQuery, undeliveredSchema } from './schemas.ts';
import { isSlug } from './slug.ts';

const CHANNEL = { description: 'The channel, without its secrets.', schema: channelSchema };
const NO_CHANNEL = problemAnswer('There is no such channel.');

const COMMON = { tag: 'Channels', path: '/channels/{slug}' };

/** Where messages go. */
export function channelEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [put(deps), list(deps), get(deps), remove(deps), tryOut(deps)];
}

function put(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'put',
    id: 'putChannel',
    summary: 'Creates a channel, or replaces its settings',
    body: channelInputSchema(channelFields),
    answers: {
      200: { ...CHANNEL, description: 'The channel, replaced.' },
      201: { ...CHANNEL, description: 'The channel, created.' },
      400: problemAnswer('Everything that is wrong with the channel.'),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => putChannel(deps, c, caller),
  };
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/channels',
    method: 'get',
    id: 'listChannels',
    summary: 'Channels by slug',
    query: listQuery(LIST_SIZE),
    answers: {
      200: { description: 'A page of channels.', schema: listOf('channels', channelSchema) },
      400: problemAnswer('A parameter is wrong.'),
    },
    run: (c, caller) => answerList(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getChannel',
    summary: 'One channel',
    answers: { 200: CHANNEL, 404: NO_CHANNEL },
    run: async (c, caller) => {
      const channel = await findChannel(deps, c, caller);
      return channel ? Response.json(channelJson(channel)) : noSuchChannel();
    },
  };
}

function remove({ database }: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'delete',
    id: 'deleteChannel',
    summary: 'Deletes a channel, and what waits for it',
    answers: { 204: { description: 'It is gone.' }, 404: NO_CHANNEL },
    run: async (c, { projectId, actor }) => {
      const slug = slugOf(c);
      const deleted = await database.transaction(async (tx) => {
        const isGone = isSlug(slug) && (await deleteChannel(tx, projectId, slug));
        if (isGone) await recordAudit(tx, { projectId, actor, action: 'channel.delete', subject: slug });
        return isGone;
      });
      return deleted ? new Response(null, { status: 204 }) : noSuchChannel();
    },
  };
}

function tryOut(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/channels/{slug}/test',
    method: 'post',
    id: 'testChannel',
    summary: 'Sends a test message now, and says whether it was delivered',
    answers: {
      200: { description: 'It was delivered: the receiver has accepted it.', schema: deliverySchema },
      404: NO_CHANNEL,
      424: {
        description: 'not_delivered: it did not get through, and is not tried again.',
        schema: undeliveredSchema,
        type: 'application/problem+json',
      },
    },
    run: (c, caller) => sendTestMessage(deps, c, caller),
  };
}

async function putChannel({ database, channelContext }: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const { projectId, actor } = caller;
  const slug = slugOf(c);
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const slugErrors = isSlug(slug) ? [] : [{ path: 'slug', message: 'a slug is 1 to 100 of a-z, 0-9, "-" and "_"' }];
  const { own, rest, errors } = readChannelFields(body.value);
  const parsed = await parseChannel(rest, channelContext);
  const wrong = [...slugErrors, ...(parsed.ok ? [] : parsed.errors), ...errors];
  if (!parsed.ok || wrong.length > 0) return invalid(wrong);
  const { channel, created } = await database.transaction(async (tx) => {
    const put = await upsertChannel(tx, { projectId, slug, ...parsed.value, ...own });
    // Settings are secrets: the log keeps who changed the channel, not to what.
    const detail = { created: put.created, kind: put.channel.kind };
    await recordAudit(tx, { projectId, actor, action: 'channel.put', subject: slug, detail });
    return put;
  });
  return Response.json(channelJson(channel), { status: created ? 201 : 200 });
}

async function answerList({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const after = slugCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const options = { limit: limit + 1, ...(after === null ? {} : { after }) };
  const found = await database.transaction((tx) => listChannels(tx, projectId, options));
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug);
  return Response.json({ channels: page.map(channelJson), next_cursor: nextCursor });
}

async function sendTestMessage(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const channel = await findChannel(deps, c, caller);
  if (!channel) return noSuchChannel();
  const delivery = await sendTest(channel, {
    database: deps.database,
    context: deps.channelContext,
    report: (error) => deps.log.error({ error, channel: channel.slug }, 'a test message failed unexpectedly'),
  });
  const { projectId, actor } = caller;
  const entry = {
    projectId,
    actor,
    action: 'channel.test',
    subject: channel.slug,
    detail: { outcome: delivery.outcome },
  };
  await deps.database.transaction((tx) => recordAudit(tx, entry));
  return delivery.outcome === 'delivered'
    ? Response.json({ outcome: delivery.outcome, reason: null })
    : notDelivered(channel, delivery);
}

/** No 2xx, so that whoever tries a channel out with `curl -f` cannot take it for a success. */
function notDelivered({ slug }: ChannelRow, delivery: Undelivered): Response {
  const { outcome, reason } = delivery;
  const perhaps = outcome === 'retry' && delivery.uncertain ? ' (though it may have been received)' : '';
  return problem(424, {
    type: 'not_delivered',
    title: 'Not delivered',
    detail: `the test message to ${slug} was not delivered${perhaps}: ${reason}`,
    members: { outcome, reason },
  });
}

type Undelivered = Exclude<Awaited<ReturnType<typeof sendTest>>, { readonly outcome: 'delivered' }>;

async function findChannel({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<ChannelRow | null> {
  const slug = slugOf(c);
  return isSlug(slug) ? database.transaction((tx) => getChannel(tx, projectId, slug)) : null;
}

export function noSuchChannel(): Response {
  return notFound('there is no channel of this slug in the project: GET /api/v1/channels lists them');
}

function channelJson(channel: ChannelRow) {
  return {
    slug: channel.slug,
    kind: channel.kind,
    ...redact(channel),
    operator: channel.operator,
    remind_every: channel.remindEvery === null ? null : formatDuration(channel.remindEvery),
    routes: channel.routes,
    created_at: formatInstant(channel.createdAt),
    dead_since: channel.deadSince === null ? null : formatInstant(channel.deadSince),
    last_failure: channel.lastFailure,
  };
}
