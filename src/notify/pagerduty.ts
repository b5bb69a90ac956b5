import type { IncidentKind, IncidentMessage } from '../core/message.ts';
import { formatInstant, parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  checkedSettings,
  type Delivery,
  type ParsedSettings,
  rejected,
  type Settings,
} from './channel.ts';
import { type Answer, judgeStatus, KEY_IS_GONE, postAndJudge, type Sending, waitingAtLeast } from './outbound.ts';
import { plain, shownOutput } from './phrases.ts';
import { checkServer } from './server.ts';
import { type Part, runLines } from './story.ts';
import { type Wording, wording } from './wording.ts';

const USUAL = 'https://events.pagerduty.com';
/** "Retry on a 429 response code, preferably with a backoff of a few minutes" (the page below, "Rate Limits"). */
const QUIET_SECONDS = 120;

/**
 * PagerDuty, through the Events API v2 (https://developer.pagerduty.com/docs/events-api-v2-overview). Each incident is an
 * alert of its own, which ends with it: hence one message for each.
 */
export const pagerduty: ChannelKind = {
  label: 'PagerDuty',
  fields: [
    { name: 'routing_key', label: 'Integration key of an Events API v2 integration', secret: true, required: true },
    {
      name: 'server',
      label: `Base URL, if not ${USUAL} (EU: https://events.eu.pagerduty.com)`,
      secret: false,
      required: false,
    },
  ],
  grouping: 'incident',
  parse: parsePagerDuty,
  open: ({ routing_key: key = '', server = USUAL }, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendPagerDuty({ key, server }, batch, { context, signal }) }),
  redact: ({ server = USUAL }) => ({ server }),
};

async function parsePagerDuty(
  { routing_key: key = '', server }: Settings,
  context: ChannelContext,
): Promise<ParsedSettings> {
  const base = await checkServer(server, context);
  return checkedSettings({ routing_key: key, ...(base.ok && base.value ? { server: base.value } : {}) }, [
    ['routing_key', /^[A-Za-z0-9]{32}$/.test(key), 'write the integration key: 32 letters and digits'],
    ['server', base.ok, base.ok ? '' : base.reason],
  ]);
}

type Target = { readonly key: string; readonly server: string };
async function sendPagerDuty({ key, server }: Target, batch: Batch, sending: Sending): Promise<Delivery> {
  const body = JSON.stringify({ routing_key: key, ...pagerDutyEvent(batch, sending.context) });
  return postAndJudge({ url: `${server}/v2/enqueue`, body, sentAt: batch.sentAt }, judgePagerDuty, sending);
}

/** A key that no service accepts, or that is refused altogether, will not be accepted next time. */
function judgePagerDuty(answer: Answer): Delivery {
  if (answer.status === 400 && /routing.?key/i.test(answer.text)) {
    return rejected('HTTP 400: PagerDuty does not know the routing key', { permanent: true });
  }
  return judgeStatus(answer.status === 429 ? waitingAtLeast(answer, QUIET_SECONDS) : answer, { gone: KEY_IS_GONE });
}

/**
 * The event of a batch, which is about one incident or one notice. A problem that was over before PagerDuty heard of it
 * is only resolved: nobody is woken for it, and whatever an earlier attempt may have opened is closed.
 */
export function pagerDutyEvent(
  batch: Batch,
  context: Pick<ChannelContext, 'zones' | 'publicUrl'>,
): Readonly<Record<string, unknown>> {
  const last = batch.events.at(-1);
  if (!last) throw new Error('a message without events');
  if (last.type === 'notice') {
    const severity = last.notice.id === 0 ? 'info' : 'warning';
    const about = { severity, source: 'rollcall', class: 'notice', timestamp: formatInstant(last.notice.at) };
    return trigger(
      last.notice.id === 0 ? batch.id : `rollcall/notice/${last.notice.id}`,
      about,
      wording(batch, context),
    );
  }
  const dedupKey = dedupKeyOf(last);
  if (last.type === 'incident.resolved') return { event_action: 'resolve', dedup_key: dedupKey };
  const { incident, job } = last;
  const about = {
    severity: SEVERITIES[incident.kind] ?? 'error',
    source: job.slug,
    class: incident.kind,
    timestamp: formatInstant(incident.openedAt),
    ...(job.tags.length > 0 ? { group: plain(job.tags.join(', '), 200) } : {}),
  };
  return trigger(dedupKey, about, wording(batch, context));
}

/** Two installations may share a service and count their incidents alike: the instant tells them apart. */
function dedupKeyOf({ incident: { id, kind, openedAt }, job: { slug } }: IncidentMessage): string {
  return `rollcall/${slug}/${kind}/${id}/${openedAt}`;
}

/** What no run has failed for is no reason to wake anybody, unless the service says otherwise. */
const SEVERITIES: Partial<Record<IncidentKind, 'warning'>> = {
  late: 'warning',
  not_started: 'warning',
  duplicate: 'warning',
  unscheduled: 'warning',
};

function trigger(dedupKey: string, about: Readonly<Record<string, unknown>>, words: Wording) {
  const { others } = words;
  const details = [
    ...words.stories.flatMap(({ parts }) => parts.flatMap(detailsOf)),
    ...(others === null ? [] : [[others.label, others.names] as const]),
  ];
  return {
    event_action: 'trigger',
    dedup_key: dedupKey,
    // At most 1,024 characters; an emoji counts for two.
    payload: { summary: plain(words.headline, 500), ...about, custom_details: Object.fromEntries(details) },
    links: [{ href: words.link, text: 'Rollcall' }],
    client: 'Rollcall',
    client_url: words.link,
  };
}

function detailsOf(part: Part): readonly (readonly [string, string | readonly string[]])[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => [label, text]);
    case 'runs':
      return [['Runs', runLines(part)]];
    case 'advice':
      return [
        ['What now', part.text],
        ...(part.ways.length > 0 ? [['Ways', part.ways.map(({ says, line }) => `${says} ${line}`)] as const] : []),
      ];
    case 'link':
      return [[part.text, part.url]];
    case 'output':
      return [['Last output', shownOutput(part.text)]];
  }
}
