import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { FC } from 'hono/jsx';
import { type Database, DatabaseUnavailable } from '../store/database.ts';
import { readSubscription, unsubscribe } from '../store/unsubscribe.ts';
import { ACK_HEADERS, Frame, NotePage } from './ack-page.tsx';
import { RETRY_AFTER_SECONDS } from './problem.ts';

type UnsubscribeDeps = { readonly database: Database };

const MOST_BYTES = 4096;

/**
 * The page to which List-Unsubscribe leads (`/u/{token}`). GET and HEAD show it and do nothing, because mail scanners open
 * links; a POST, whether of its button or of a mail program (RFC 8058), takes the address out of its channel. It answers
 * with no redirect, which mail programs do not follow.
 */
export function unsubscribePages({ database }: UnsubscribeDeps): Hono {
  const answer = (acts: boolean) => (c: Context) => guarded(c, () => subscription(database, c, acts));
  const tooLarge = (c: Context) => note(c, 413, 'Too large', 'A form of this page sends less.');
  return new Hono()
    .get('/u/:token', answer(false))
    .post('/u/:token', bodyLimit({ maxSize: MOST_BYTES, onError: tooLarge }), answer(true));
}

async function guarded(c: Context, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    c.header('Retry-After', String(RETRY_AFTER_SECONDS));
    return note(c, 503, 'Not now', 'Rollcall cannot do this right now. Nothing has changed; please try again.');
  }
}

async function subscription(database: Database, c: Context, acts: boolean): Promise<Response> {
  const token = c.req.param('token') ?? '';
  const found = await database.transaction((tx) => (acts ? unsubscribe : readSubscription)(tx, token));
  if (!found) {
    const text = 'It was cut where it was copied, or its channel has been deleted or sends to another address by now.';
    return note(c, 404, 'This link leads nowhere', text);
  }
  const { address, channel, isOver } = found;
  if (!acts && !isOver) return c.html(<Question address={address} channel={channel.slug} />, 200, ACK_HEADERS);
  return note(
    c,
    200,
    'Unsubscribed',
    `${address} gets no more messages of channel ${channel.slug}. Whoever looks after Rollcall can subscribe it again.`,
  );
}

function note(c: Context, status: 200 | 404 | 413 | 503, title: string, text: string): Response | Promise<Response> {
  return c.html(<NotePage title={title} text={text} />, status, ACK_HEADERS);
}

const Question: FC<{ address: string; channel: string }> = ({ address, channel }) => (
  <Frame title="No more of these mails?">
    <p>
      {address} gets the messages of channel {channel} in Rollcall, which tell when a scheduled job goes wrong. Nobody
      else gets them through this channel; whoever looks after Rollcall is told.
    </p>
    <form method="post">
      <input type="hidden" name="List-Unsubscribe" value="One-Click" />
      <button class="main" type="submit">
        Unsubscribe
      </button>
    </form>
  </Frame>
);
