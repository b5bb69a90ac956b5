import { groupBy } from '../core/group.ts';
import type { IncidentMessage, MessageOccurrence } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import { dateOf, KINDS, span, stateText, timeText, undated } from './phrases.ts';
import {
  fateText,
  type IncidentTopic,
  inOrder,
  jobFact,
  type Part,
  type Short,
  type Telling,
  whenText,
} from './story.ts';

/** How an incident ended: with its own run, a later one (its key; of a heartbeat, when), or without a run. */
type Ending = {
  readonly how: 'itself' | 'later' | 'settled';
  readonly key: string | null;
  readonly at?: Instant | undefined;
};

export function endingOf({ incident, occurrences, facts }: IncidentMessage): Ending {
  const { lastCompleted, lastCompletedAt: at } = facts;
  if (incident.kind === 'schedule_error') return { how: 'itself', key: null };
  const isOwn = occurrences.some(({ key, state }) => key === lastCompleted || state === 'running');
  if (isOwn) return { how: 'itself', key: null };
  const newest = Math.max(...occurrences.map(({ scheduledFor }) => scheduledFor));
  if (lastCompleted !== null && Date.parse(lastCompleted) > newest) return { how: 'later', key: lastCompleted, at };
  return { how: occurrences.length === 0 ? 'later' : 'settled', key: null };
}

/** What is well now, and then what the incident was about. */
export function recoveryTitle(
  { last, hasProblem }: IncidentTopic,
  time: string | null,
  { short, zones }: { readonly short: Short; readonly zones: Telling['zones'] },
): string {
  const { kind } = last.incident;
  const { how, key } = endingOf(last);
  const { past, ...phrases } = KINDS[kind];
  const well = how === 'settled' && kind !== 'backlog' ? 'is settled' : phrases[how === 'settled' ? 'later' : how];
  const says = hasProblem ? `${past}, but ${well}` : well;
  const { lastCompletedState = null } = last.facts;
  const done = lastCompletedState === null ? 'completed' : stateText(lastCompletedState);
  const later = key === null ? '' : `: ${time} ${done}`;
  const lead = key === null && time !== null ? () => time : short;
  const fates = fatesOf(last, (it) => whenText(it, last.job, zones), { lead, short });
  return fates === null ? `${says}${later}` : `${says}${later}${key === null ? ': ' : '; before: '}${fates}`;
}

/** So many occurrences are all named in the title of an end; of more there is a list. */
export const MOST_NAMED = 3;

/** `… and … completed late, … never ran`, or `5 completed late (… to …)`. `lead` writes the first time in the title. */
function fatesOf(
  message: IncidentMessage,
  when: (it: MessageOccurrence) => string,
  { lead, short }: { readonly lead: Short; readonly short: Short },
): string | null {
  const { occurrenceCount, kind } = message.incident;
  const occurrences = inOrder(message);
  const [first] = occurrences;
  const last = occurrences.at(-1);
  if (!first || !last) return null;
  const fates = [...groupBy(occurrences, (it) => fateText(kind, it))];
  const unlisted = occurrenceCount - occurrences.length;
  if (occurrenceCount <= MOST_NAMED && unlisted <= 0) {
    const timeOf = (it: MessageOccurrence): string => (it === first ? lead : short)(when(it));
    return fates.map(([fate, group]) => `${listText(group.map(timeOf))} ${fate}`).join(', ');
  }
  const parts = fates.map(([fate, { length }]) => `${length} ${fate}`);
  const end = unlisted > 0 ? ' and later' : ` to ${after(when(first), when(last), short)}`;
  return `${[...parts, ...(unlisted > 0 ? [`${unlisted} more`] : [])].join(', ')} (${lead(when(first))}${end})`;
}

/** `a`, `a and b`, `a, b and c`. */
const listText = (items: readonly string[]): string => items.join(', ').replace(/, (?!.*, )/, ' and ');

/** The second of two times, which needs no date where the first has said it. */
const after = (first: string, second: string, short: Short): string =>
  dateOf(first) === dateOf(second) ? undated(second, dateOf(first)) : short(second);

/** How long it lasted, and which job it was. */
export function recoveryFacts({ incident, job }: IncidentMessage, zones: Telling['zones'], short: Short): Part {
  const { openedAt, resolvedAt } = incident;
  if (resolvedAt === null) return { kind: 'facts', facts: [jobFact(job)] };
  const from = timeText(openedAt, job.zone, zones);
  const to = after(from, timeText(resolvedAt, job.zone, zones), short);
  const lasted = { label: 'Lasted', text: `${span(resolvedAt - openedAt)}, from ${short(from)} to ${to}` };
  return { kind: 'facts', facts: [lasted, jobFact(job)] };
}
