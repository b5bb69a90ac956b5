import type { HttpReply, ReceivedRequest } from '../support/receivers.ts';

/**
 * A service as its documentation describes it: what it refuses, and how it says so. Real services are not called by
 * tests; what stands here was read on the pages named.
 */
export type Service = {
  /** Answers a request as the service would: 2xx only to what is within its limits. */
  judge(request: ReceivedRequest): HttpReply;
  /** For now; for this message only; for ever; for 30 s. */
  readonly refusals: Readonly<Record<'now' | 'this' | 'ever' | 'busy', HttpReply>>;
  /** What a person gets to see of a request, and in `markup` what is left of it to be read as markup. */
  shown(request: ReceivedRequest): { readonly all: string; readonly markup: string };
  /** What would be a mention, a link or a tag in `markup`. */
  readonly alive?: RegExp;
};

const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): HttpReply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

// biome-ignore lint/suspicious/noExplicitAny: JSON of a request
const bodyOf = ({ body }: ReceivedRequest): any => JSON.parse(body);
const isText = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'string' && value.length >= least && value.length <= most;

/**
 * https://docs.slack.dev/reference/block-kit/blocks (50 blocks; header 150, section 3,000 characters),
 * https://docs.slack.dev/reference/methods/chat.postMessage (errors come under status 200; `thread_ts` must be a message),
 * https://docs.slack.dev/apis/web-api/rate-limits (429 with Retry-After).
 */
export function slackApi(token: string): Service & { readonly threads: Map<string, string[]> } {
  const threads = new Map<string, string[]>();
  const refuse = (error: string): HttpReply => json(200, { ok: false, error });
  return {
    threads,
    judge(request) {
      if (request.path !== '/api/chat.postMessage') return { status: 404 };
      if (request.headers.authorization !== `Bearer ${token}`) return refuse('invalid_auth');
      const { channel, text, blocks, thread_ts: thread } = bodyOf(request);
      if (!/^C\w+$/.test(channel)) return refuse('channel_not_found');
      if (!isText(text, 1, 40_000)) return refuse('msg_too_long');
      if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > 50) return refuse('invalid_blocks');
      if (JSON.stringify(blocks).length > 13_000) return refuse('msg_blocks_too_long');
      const isGood = blocks.every(({ type, text: inner }) =>
        type === 'context' ? true : isText(inner?.text, 1, type === 'header' ? 150 : 3000),
      );
      if (!isGood) return refuse('invalid_blocks');
      if (thread !== undefined && !threads.has(thread)) return refuse('cannot_reply_to_message');
      const ts = `1792892106.${String(threads.size + 100_000)}`;
      if (thread === undefined) threads.set(ts, []);
      else threads.get(thread)?.push(text);
      // The whole message first: `ts` need not be near the beginning.
      return json(200, { ok: true, message: { text, blocks }, channel, ts });
    },
    refusals: {
      now: { status: 503, body: '<html>' },
      this: refuse('invalid_blocks'),
      ever: refuse('account_inactive'),
      busy: json(429, { ok: false, error: 'ratelimited' }, { 'retry-after': '30' }),
    },
    shown: ({ body }) => ({ all: body, markup: body.replaceAll('<https://rollcall.example.org/>', '') }),
  };
}

/**
 * https://developer.pagerduty.com/docs/events-api-v2-overview (codes, 512 kB, back-off) and
 * https://developer.pagerduty.com/docs/send-alert-event (fields; an alert per dedup_key; a resolve of none is dropped).
 */
export function pagerDutyApi(key: string): Service & { readonly open: Map<string, string>; readonly seen: string[] } {
  const open = new Map<string, string>();
  const seen: string[] = [];
  const invalid = (...errors: string[]): HttpReply =>
    json(400, { status: 'invalid event', message: 'Event object is invalid', errors });
  return {
    open,
    seen,
    judge(request) {
      if (request.path !== '/v2/enqueue') return { status: 404 };
      if (Buffer.byteLength(request.body) > 512 * 1024) return invalid('too large');
      const { routing_key: given, event_action: action, dedup_key: dedupKey, payload } = bodyOf(request);
      if (!isText(given, 32, 32)) return invalid("Length of 'routing_key' is incorrect (should be 32 characters)");
      if (given !== key) return invalid('Invalid routing key');
      if (!isText(dedupKey, 1, 255)) return invalid("'dedup_key' is too long");
      if (action === 'resolve') open.delete(dedupKey);
      else if (action !== 'trigger') return invalid("'event_action' is invalid");
      else {
        if (!isText(payload?.summary, 1, 1024)) return invalid("'payload.summary' is missing or too long");
        if (!isText(payload.source, 1, 255)) return invalid("'payload.source' is missing or blank");
        if (!['critical', 'error', 'warning', 'info'].includes(payload.severity))
          return invalid("'payload.severity' is invalid");
        if (Number.isNaN(Date.parse(payload.timestamp))) return invalid("'payload.timestamp' is invalid");
        open.set(dedupKey, payload.summary);
      }
      seen.push(`${action} ${dedupKey}`);
      return json(202, { status: 'success', message: 'Event processed', dedup_key: dedupKey });
    },
    refusals: {
      now: { status: 500 },
      this: invalid("'payload.severity' is invalid"),
      ever: invalid('Invalid routing key'),
      busy: json(429, {}, { 'retry-after': '300' }),
    },
    shown: ({ body }) => ({ all: body.replace(/"routing_key":"\w+",/, ''), markup: '' }),
  };
}

/**
 * https://docs.discord.com/developers/resources/webhook#execute-webhook (content 2,000, 10 embeds),
 * https://docs.discord.com/developers/resources/message#embed-object-embed-limits (description 4,096, all 6,000),
 * https://docs.discord.com/developers/topics/rate-limits (429: `retry_after` in seconds, with fractions).
 */
export function discordApi(): Service {
  const invalid = json(400, { message: 'Invalid Form Body', code: 50035, errors: {} });
  return {
    judge(request) {
      const url = new URL(request.path, 'http://discord');
      if (url.searchParams.get('wait') !== 'true') return { status: 204 };
      const { content, embeds, allowed_mentions: mentions } = bodyOf(request);
      const isContent = isText(content, 1, 2000);
      const isEmbed = embeds.length === 1 && isText(embeds[0].description, 1, 4096);
      // Nobody is pinged, whatever the text says.
      const isQuiet = JSON.stringify(mentions) === '{"parse":[]}';
      return isContent && isEmbed && isQuiet ? json(200, { id: '1', content }) : invalid;
    },
    refusals: {
      now: { status: 502 },
      this: invalid,
      ever: json(404, { message: 'Unknown Webhook', code: 10015 }),
      busy: json(
        429,
        { message: 'You are being rate limited.', retry_after: 29.57, global: false },
        { 'retry-after': '30' },
      ),
    },
    alive: /\]\(|[<>]/,
    shown({ body }) {
      const { content, embeds } = JSON.parse(body);
      const text = `${content}\n${embeds[0].description}`;
      const plain = text.replace(/```[\s\S]*?```/g, '').replace(/\\[^0-9A-Za-z\s]/g, '');
      return { all: text.replace(/\\([^0-9A-Za-z\s])/g, '$1'), markup: plain };
    },
  };
}

/**
 * https://learn.microsoft.com/en-us/connectors/teams/#known-issues-and-limitations (about 28 KB with everything),
 * https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using (a message
 * with one Adaptive Card, 202); the shape of errors as in https://github.com/microsoft/coe-starter-kit/issues/8684.
 */
export function teamsApi(): Service {
  const refuse = (status: number, code: string): HttpReply => json(status, { error: { code, message: 'no' } });
  return {
    judge(request) {
      // What Teams adds counts too: from some 21 kB on people have seen it refused.
      if (Buffer.byteLength(request.body) > 21_000) return refuse(413, 'RequestEntityTooLarge');
      const { type, attachments } = bodyOf(request);
      const [{ contentType, content }] = attachments;
      const isCard = type === 'message' && contentType === 'application/vnd.microsoft.card.adaptive';
      const isBody = content.type === 'AdaptiveCard' && content.body.every(isRichText);
      return isCard && isBody ? { status: 202 } : refuse(400, 'InvalidTemplate');
    },
    refusals: {
      now: refuse(500, 'InternalServerError'),
      this: refuse(400, 'InvalidTemplate'),
      ever: refuse(404, 'WorkflowNotFound'),
      busy: { status: 429, headers: { 'retry-after': '30' } },
    },
    shown({ body }) {
      const text = JSON.stringify(JSON.parse(body).attachments[0].content);
      // In a TextRun nothing is markup.
      return { all: text, markup: '' };
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of a request
function isRichText({ type, inlines }: any): boolean {
  // biome-ignore lint/suspicious/noExplicitAny: the same
  return type === 'RichTextBlock' && inlines.every((run: any) => run.type === 'TextRun' && isText(run.text, 1, 30_000));
}

/**
 * https://core.telegram.org/bots/api#sendmessage (1 to 4,096 characters after parsing),
 * https://core.telegram.org/bots/api#html-style (tags and entities), https://core.telegram.org/bots/api#making-requests
 * and #responseparameters (errors, `retry_after`, `migrate_to_chat_id`).
 */
export function telegramApi(token: string): Service {
  const refuse = (code: number, description: string, parameters?: object): HttpReply =>
    json(code, { ok: false, error_code: code, description, ...(parameters ? { parameters } : {}) });
  return {
    judge(request) {
      if (request.path !== `/bot${token}/sendMessage`) return refuse(404, 'Not Found');
      const { chat_id: chat, text, parse_mode: mode } = bodyOf(request);
      if (mode !== 'HTML' || !/^-?\d+$/.test(chat)) return refuse(400, 'Bad Request: chat not found');
      const parsed = parsedHtml(text);
      if (parsed === null) return refuse(400, "Bad Request: can't parse entities");
      if (!isText(parsed, 1, 4096)) return refuse(400, 'Bad Request: message is too long');
      return json(200, { ok: true, result: { message_id: 7, text: parsed } });
    },
    refusals: {
      now: refuse(502, 'Bad Gateway'),
      this: refuse(400, "Bad Request: can't parse entities: unsupported start tag"),
      ever: refuse(403, 'Forbidden: bot was blocked by the user'),
      busy: refuse(429, 'Too Many Requests: retry after 30', { retry_after: 30 }),
    },
    alive: /[<>&]|@\w/,
    shown({ body }) {
      const { text } = JSON.parse(body);
      const outside = text.replace(/<pre>[\s\S]*?<\/pre>/g, '');
      return {
        all: parsedHtml(text) ?? '',
        markup: outside.replace(/<\/?b>|<a href="https[^"]+">|<\/a>|&(amp|lt|gt);/g, ''),
      };
    },
  };
}

/** The text as a reader sees it; null where Telegram refuses it: unknown or unbalanced tags, a bare < or &. */
function parsedHtml(html: string): string | null {
  const open: string[] = [];
  for (const [tag, slash, name = ''] of html.matchAll(/<(\/?)([^>]*)>/g)) {
    const isLink = !slash && /^a href="https?:\/\/[^"<>\s]+"$/.test(name);
    if (!isLink && !/^(b|pre|code)$/.test(name) && !(slash && name === 'a')) return null;
    if (slash && open.pop() !== name) return null;
    if (!slash) open.push(isLink ? 'a' : tag.slice(1, -1));
  }
  const text = html.replace(/<[^>]*>/g, '');
  if (open.length > 0 || /[<>]|&(?!(amp|lt|gt|quot);)/.test(text)) return null;
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/**
 * https://docs.ntfy.sh/publish/#publish-as-json and #limitations (message 4,096 bytes; of a longer one it makes an
 * attachment; the JSON at most twice as long), https://github.com/binwiederhier/ntfy/blob/main/server/errors.go.
 */
export function ntfyApi(topic: string, token: string): Service {
  const refuse = (status: number, code: number, error: string): HttpReply =>
    json(status, { code, http: status, error });
  return {
    judge(request) {
      if (request.path !== '/') return refuse(404, 40401, 'page not found');
      if (request.headers.authorization !== `Bearer ${token}`) return refuse(403, 40301, 'forbidden');
      if (Buffer.byteLength(request.body) > 2 * 4096) return refuse(413, 41303, 'JSON body too large');
      const { topic: given, title, message, priority, tags } = bodyOf(request);
      if (given !== topic) return refuse(400, 40009, 'invalid request: topic invalid');
      if (Buffer.byteLength(message) > 4096) return refuse(400, 40014, 'invalid request: attachments not allowed');
      if (![1, 2, 3, 4, 5].includes(priority)) return refuse(400, 40007, 'invalid priority parameter');
      return json(200, { id: 'x', event: 'message', title, message, tags });
    },
    refusals: {
      now: refuse(500, 50001, 'internal server error'),
      this: refuse(400, 40011, 'invalid message: message must be UTF-8 encoded'),
      ever: refuse(403, 40301, 'forbidden'),
      busy: json(429, { code: 42901, http: 429, error: 'too many requests' }, { 'retry-after': '30' }),
    },
    shown({ body }) {
      const { title, message } = JSON.parse(body);
      return { all: `${title}\n${message}`, markup: '' };
    },
  };
}

/** https://github.com/caronc/apprise-api/blob/master/swagger.yaml (codes; 204 has reached nobody). */
export function appriseApi(key: string): Service {
  return {
    judge(request) {
      if (request.path !== `/notify/${key}`) return { status: 204 };
      const { title, body, type, format } = bodyOf(request);
      const isKnown = ['info', 'success', 'warning', 'failure'].includes(type) && format === 'text';
      return isText(title, 1, 250) && isText(body, 1, 32_768) && isKnown
        ? json(200, { error: null, details: [] })
        : json(400, { error: 'Bad FORM Payload provided' });
    },
    refusals: {
      now: { status: 502 },
      this: json(400, { error: 'Invalid payload' }),
      ever: { status: 204 },
      busy: { status: 429, headers: { 'retry-after': '30' } },
    },
    shown({ body }) {
      const { title, body: text } = JSON.parse(body);
      return { all: `${title}\n${text}`, markup: '' };
    },
  };
}
