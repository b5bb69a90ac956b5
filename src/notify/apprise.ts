import { parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  checkedSettings,
  type Delivery,
  type ParsedSettings,
  rejected,
  retry,
  type Settings,
} from './channel.ts';
import { type Answer, judgeStatus, KEY_IS_GONE, postAndJudge, type Sending } from './outbound.ts';
import { plain } from './phrases.ts';
import { plainMessage } from './plain-text.ts';
import { checkServer } from './server.ts';
import { MARKS, type Story } from './story.ts';
import { type Wording, wording } from './wording.ts';

/** Characters of a message: Apprise itself cuts or splits what the services behind it cannot take. */
const BODY = 4000;
/** How often a message is sent again that only some of the services behind it got. */
const PARTIAL_ATTEMPTS = 3;

/** The HTTP API of Apprise (https://github.com/caronc/apprise-api), and through it some hundred services. */
export const apprise: ChannelKind = {
  label: 'Apprise',
  fields: [
    { name: 'server', label: 'Base URL of the Apprise API', secret: false, required: true },
    { name: 'key', label: 'Key of a configuration kept there', secret: true, required: false },
    { name: 'urls', label: 'Apprise URLs, separated by commas, instead of a key', secret: true, required: false },
    { name: 'tag', label: 'Only the services with this tag', secret: false, required: false },
  ],
  parse: parseApprise,
  open: (settings, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendApprise(settings, batch, { context, signal }) }),
  redact: ({ server = '', tag }) => ({ server, ...(tag === undefined ? {} : { tag }) }),
};

async function parseApprise(given: Settings, context: ChannelContext): Promise<ParsedSettings> {
  const { server = '', key, urls, tag } = given;
  const base = await checkServer(server, context);
  return checkedSettings({ ...given, server: base.ok && base.value ? base.value : server }, [
    ['server', base.ok, base.ok ? '' : base.reason],
    ['key', (key === undefined) !== (urls === undefined), 'write either key or urls'],
    ['key', key === undefined || /^[\w-]{1,128}$/.test(key), 'a key is 1 to 128 letters, digits, "-" and "_"'],
    ['urls', urls === undefined || isUrls(urls), 'write Apprise URLs such as mailto://…, separated by commas'],
    ['tag', tag === undefined || /^[\w ,-]{1,200}$/.test(tag), 'a tag is made of letters, digits, "-" and "_"'],
  ]);
}

const isUrls = (text: string): boolean => /^[a-z][\w+.-]*:\/\/[\x21-\x7e, ]+$/i.test(text) && text.length <= 4000;

async function sendApprise(
  { server = '', key, urls, tag }: Settings,
  batch: Batch,
  sending: Sending,
): Promise<Delivery> {
  const body = JSON.stringify({
    ...appriseMessage(wording(batch, sending.context)),
    ...(urls === undefined ? {} : { urls }),
    ...(tag === undefined ? {} : { tag }),
  });
  const url = key === undefined ? `${server}/notify` : `${server}/notify/${key}`;
  const headers = { accept: 'application/json' };
  return postAndJudge({ url, headers, body, sentAt: batch.sentAt }, judgeApprise, sending);
}

/**
 * 204 is no success: there is no configuration of this key, or no URL in it. 424 says that at least one service did not
 * take it, or that none has the tag; which, nobody can tell. It is tried again, but not for a day: the services that took
 * it get it every time. (swagger.yaml of the repository.)
 */
function judgeApprise(answer: Answer): Delivery {
  if (answer.status === 204) return rejected('HTTP 204: no such key, or no URL in it', { permanent: true });
  if (answer.status === 424) {
    const reason = 'HTTP 424: at least one service behind Apprise did not take it, or none has the tag';
    return retry(reason, { uncertain: true, mostAttempts: PARTIAL_ATTEMPTS });
  }
  return judgeStatus(answer, { gone: KEY_IS_GONE });
}

const TYPES: Readonly<Record<Story['mood'], string>> = { problem: 'failure', recovered: 'success', notice: 'info' };

/** Plain text: each service behind shows it in its own way. */
function appriseMessage(words: Wording): Readonly<Record<string, string>> {
  const mood = words.stories[0]?.mood ?? 'notice';
  return {
    title: `${MARKS[mood]} ${plain(words.subject, 150)}`,
    body: plainMessage(words, { limit: BODY, size: (text) => text.length }),
    type: TYPES[mood],
    format: 'text',
  };
}
