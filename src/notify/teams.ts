import { parsed, type Result } from '../core/time.ts';
import { type Batch, type Channel, type ChannelKind, checkedSettings, type Delivery } from './channel.ts';
import { fitted, type Piece } from './fitting.ts';
import {
  type Answer,
  checkUrl,
  hostOnly,
  jsonOf,
  judgeStatus,
  KEY_IS_GONE,
  postAndJudge,
  type Sending,
} from './outbound.ts';
import { plain } from './phrases.ts';
import { MARKS, type Story } from './story.ts';
import { type Wording, wording } from './wording.ts';

/**
 * Bytes of a card. Teams refuses what is over "about 28 KB" with everything it adds
 * (https://learn.microsoft.com/en-us/connectors/teams/#known-issues-and-limitations).
 */
const CARD = 20_000;

/** Microsoft Teams, through the URL of a workflow that posts a card when a webhook request is received. */
export const teams: ChannelKind = {
  label: 'Microsoft Teams',
  fields: [{ name: 'url', label: 'URL of the workflow', secret: true, required: true }],
  async parse({ url = '' }, context) {
    const checked = await checkUrl(url, context);
    return checkedSettings({ url: checked.ok ? checked.value.href : url }, [
      ['url', checked.ok, checked.ok ? '' : checked.reason],
    ]);
  },
  open: ({ url = '' }, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendTeams(url, batch, { context, signal }) }),
  // The query holds the signature.
  redact: ({ url = '' }) => ({ url: hostOnly(url) }),
};

async function sendTeams(url: string, batch: Batch, sending: Sending): Promise<Delivery> {
  const body = JSON.stringify(teamsMessage(wording(batch, sending.context)));
  return postAndJudge({ url, body, sentAt: batch.sentAt }, judgeTeams, sending);
}

/** What an older connector answers under status 200 (".../connectors-using", "Rate limiting for connectors"). */
const FAILED = /webhook message delivery failed with error.*? HTTP error (\d{3})/i;

/** 202: the workflow will post it. One that was deleted, switched off or changed hands takes no later message either. */
function judgeTeams(answer: Answer): Delivery {
  const failed = FAILED.exec(answer.text)?.[1];
  if (failed !== undefined && answer.status === 200) return judgeStatus({ ...answer, status: Number(failed) });
  const { error } = jsonOf(answer);
  const { code } = typeof error === 'object' && error !== null ? (error as { readonly code?: unknown }) : {};
  const word = typeof code === 'string' && /^[A-Za-z]{2,60}$/.test(code) ? code : null;
  return judgeStatus(answer, { word, gone: word === 'WorkflowTriggerIsNotEnabled' ? [answer.status] : KEY_IS_GONE });
}

type Run = {
  readonly type: 'TextRun';
  readonly text: string;
  readonly weight?: 'Bolder';
  readonly size?: 'Medium';
  readonly fontType?: 'Monospace';
  readonly color?: 'Attention' | 'Good' | 'Accent';
  readonly selectAction?: { readonly type: 'Action.OpenUrl'; readonly url: string };
};
type Block = {
  readonly type: 'RichTextBlock';
  readonly inlines: readonly Run[];
  readonly spacing?: 'Small' | 'Medium';
};

const COLOURS = { problem: 'Attention', recovered: 'Good', notice: 'Accent' } as const;

/**
 * An Adaptive Card as the workflow expects it
 * (https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using). All text
 * is in TextRuns, in which Markdown is not read (https://learn.microsoft.com/en-us/adaptive-cards/schema-explorer/text-run):
 * nothing needs escaping, and nothing can mention anybody.
 */
export function teamsMessage(words: Wording): Readonly<Record<string, unknown>> {
  const mood: Story['mood'] = words.stories[0]?.mood ?? 'notice';
  const headline = `${MARKS[mood]} ${plain(words.headline, 450)}`;
  const head = block([{ type: 'TextRun', text: headline, weight: 'Bolder', size: 'Medium', color: COLOURS[mood] }]);
  const card = (body: readonly Block[]) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          fallbackText: headline,
          msteams: { width: 'Full' },
          body,
          actions: [{ type: 'Action.OpenUrl', title: 'Rollcall', url: words.link }],
        },
      },
    ],
  });
  const short = block([{ type: 'TextRun', text: 'Cut short.' }]);
  const room = CARD - sizeOf(card([head, short]));
  const { written, isShort } = fitted(words, { write, size: (one) => sizeOf(one) + 1, room });
  return card([head, ...written, ...(isShort ? [short] : [])]);
}

const sizeOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

function write(piece: Piece): Block {
  switch (piece.kind) {
    case 'title':
      return block([{ type: 'TextRun', text: `${MARKS[piece.mood]} ${piece.text}`, weight: 'Bolder' }], 'Medium');
    case 'fact':
    case 'names':
      return block([
        { type: 'TextRun', text: `${piece.label}: `, weight: 'Bolder' },
        { type: 'TextRun', text: piece.text },
      ]);
    case 'run':
      return block([{ type: 'TextRun', text: `• ${piece.text}` }]);
    case 'text':
      return block([{ type: 'TextRun', text: piece.text }]);
    case 'link':
      return block([{ type: 'TextRun', text: piece.text, selectAction: { type: 'Action.OpenUrl', url: piece.url } }]);
    case 'command':
      return block([{ type: 'TextRun', text: piece.text, fontType: 'Monospace' }]);
    case 'output':
      return block([
        { type: 'TextRun', text: 'Last output:\n', weight: 'Bolder' },
        { type: 'TextRun', text: piece.text, fontType: 'Monospace' },
      ]);
  }
}

function block(inlines: readonly Run[], spacing: 'Small' | 'Medium' = 'Small'): Block {
  return { type: 'RichTextBlock', inlines, spacing };
}
