import type { IncidentMessage } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import { whatNow } from './advice.ts';
import type { IncidentEvent } from './channel.ts';
import { ago, ahead, KINDS, keyText, plain, timeText } from './phrases.ts';
import { type Fact, jobFact, type Part, runsPart, type Short, type Telling } from './story.ts';

/** `missing`, `missing, reminder 2`. */
export function problemLabel({ type, again, incident, known }: IncidentEvent): string {
  const { word } = KINDS[incident.kind];
  if (type !== 'incident.reminded') return word;
  if (again === 'snooze_over') return `${word}, snooze over`;
  if (again === undefined) return `${word} again`;
  return known === undefined ? `${word}, reminder` : `${word}, reminder ${known.reminders}`;
}

/** What stands between what happened and the time. */
const DUE: Readonly<Record<string, string>> = { unscheduled: ':', backlog: ', the latest due' };

/** Of what ended before it was due, the time is that of its end. */
function dueOf({ again, incident, occurrences }: IncidentMessage): string {
  if (occurrences[0]?.endedAt === undefined) return DUE[incident.kind] ?? ': due';
  if (incident.kind !== 'failed') return ': ended';
  return again === undefined ? ' at' : ': failed at';
}

/** What happened, after the name of the job. `time` is that of its first run. */
export function problemTitle(message: IncidentMessage, time: string | null): string {
  const { type, incident, facts } = message;
  const { kind, occurrenceCount } = incident;
  const code = kind === 'failed' && facts.exitCode !== null ? ` (exit code ${facts.exitCode})` : '';
  const due = time === null ? '' : `${dueOf(message)} ${time}`;
  const isAgain = type === 'incident.reminded';
  const isCounted = isAgain && occurrenceCount > 1 && kind !== 'backlog';
  const count = isCounted ? ` (${occurrenceCount} so far)` : '';
  const detail = kind === 'schedule_error' && facts.detail ? `: ${plain(facts.detail, 200)}` : '';
  return `${saysOf(message)}${code}${due}${count}${detail}`;
}

function saysOf({ type, again, incident, facts }: IncidentMessage): string {
  const { kind, occurrenceCount } = incident;
  const phrases = KINDS[kind];
  if (again !== undefined) return phrases.still;
  const isAgain = type === 'incident.reminded';
  if (kind === 'backlog' && !isAgain && occurrenceCount > 1) return `owes ${occurrenceCount} runs`;
  const { completions } = facts;
  if (kind === 'duplicate' && completions !== null && completions > 1)
    return `${isAgain ? 'again ' : ''}ran ${timesText(completions)}`;
  return phrases[isAgain ? 'reminded' : 'opened'];
}

const timesText = (count: number): string => (count === 2 ? 'twice' : `${count} times`);

/** Everything below the title. */
export function problemParts(message: IncidentEvent, telling: Telling, short: Short): readonly Part[] {
  const { incident, facts, job, ackUrl } = message;
  const said = facts.output?.trim() ? [{ kind: 'output', text: facts.output } as const] : [];
  const isFailed = incident.kind === 'failed';
  return [
    // Why it failed is what one wants to know.
    ...(isFailed ? said : []),
    { kind: 'facts', facts: [...problemFacts(message, telling, short), jobFact(job)] },
    ...(ackUrl === undefined ? [] : [{ kind: 'link', text: 'Acknowledge or snooze', url: ackUrl } as const]),
    { kind: 'advice', ...whatNow(message) },
    ...(incident.occurrenceCount > 1 ? [runsPart(message, telling, short)] : []),
    ...(isFailed ? [] : said),
  ];
}

const EXPECTED: Readonly<Record<string, string>> = {
  missing: 'Expected by',
  late: 'Expected by',
  not_started: 'Start expected by',
  overrun: 'Should have ended by',
  expired: 'Expected by',
};

function problemFacts(message: IncidentEvent, telling: Telling, short: Short): readonly Fact[] {
  const { incident, job, facts } = message;
  const time = (at: Instant): string => short(timeText(at, job.zone, telling.zones));
  const by = EXPECTED[incident.kind];
  const { maxCatchUp, before } = facts;
  const runs = incident.kind === 'duplicate' ? (facts.runs ?? []) : [];
  const ends = runs.map(({ endedAt, source }) => `${endedAt === null ? 'no end' : time(endedAt)}${fromText(source)}`);
  const [first] = message.occurrences;
  return factsOf([
    ['Run expected by', first?.endedAt === undefined ? null : short(keyText(first.key))],
    [by ?? '', facts.expectedBy === null ? null : `${time(facts.expectedBy)} (${ago(facts.expectedBy, telling.now)})`],
    ['Allowed', maxCatchUp ? `${maxCatchUp} at most (max_catch_up)` : null],
    ['Completed', ends.length > 0 ? ends.join(', ') : null],
    ['Before', before ? `reported as ${KINDS[before].word}` : null],
    ...standingFacts(message, telling, time),
    ['Last completed', lastCompletedText(message, telling, { time, short })],
    ...outlookFacts(message, telling, { time, short }),
  ]);
}

type MaybeFact = readonly [label: string, text: string | null];

const factsOf = (facts: readonly MaybeFact[]): readonly Fact[] =>
  facts.flatMap(([label, text]) => (text === null || label === '' ? [] : [{ label, text }]));

type TimeOf = (at: Instant) => string;

/** What has been said and done about it so far. */
function standingFacts({ type, again, incident, known, facts }: IncidentEvent, { now }: Telling, time: TimeOf) {
  const { alertAfter = null } = facts;
  const acked = known?.acked ?? null;
  const reminder = again === 'interval' && known ? `, reminder ${known.reminders}` : '';
  const over = again === 'snooze_over' ? '; its snooze is over' : '';
  const since = `${time(incident.openedAt)} (${ago(incident.openedAt, now)})${reminder}${over}`;
  const inARow = alertAfter?.count === alertAfter?.of ? 'in a row' : `of the last ${alertAfter?.of}`;
  const told: readonly MaybeFact[] = [
    [again === undefined ? 'Open since' : 'Still open since', type === 'incident.reminded' ? since : null],
    ['Acknowledged', acked ? `by ${plain(acked.by, 100)}, ${time(acked.at)} (${ago(acked.at, now)})` : null],
    ['Told after', alertAfter ? `${alertAfter.count} ${inARow} (alert_after)` : null],
  ];
  return told;
}

function lastCompletedText(
  { incident, occurrences, facts }: IncidentMessage,
  { now }: Telling,
  { time, short }: { readonly time: TimeOf; readonly short: Short },
): string | null {
  const { lastCompleted, lastCompletedAt: at } = facts;
  if (lastCompleted === null) return incident.kind === 'duplicate' ? null : 'none yet';
  // The run that is complained about tells nothing new.
  if (occurrences.some(({ key }) => key === lastCompleted)) return null;
  if (at !== undefined) return `${time(at)} (${ago(at, now)})`;
  return `due ${short(keyText(lastCompleted))} (${ago(Date.parse(lastCompleted), now)})`;
}

/** How long it is worth something, and when the next one comes. */
function outlookFacts(
  { incident, facts }: IncidentMessage,
  { now }: Telling,
  { time, short }: { readonly time: TimeOf; readonly short: Short },
): readonly MaybeFact[] {
  const { usefulUntil = null, nextDue = null } = facts;
  const isUseful = usefulUntil !== null && usefulUntil > now && WORTH_RUNNING.has(incident.kind);
  const next = nextDue === null ? null : Date.parse(nextDue);
  return [
    ['Useful until', isUseful ? `${time(usefulUntil)} (${ahead(usefulUntil, now)})` : null],
    ['Next run due', next !== null && next > now ? `${short(keyText(nextDue ?? ''))} (${ahead(next, now)})` : null],
  ];
}

const WORTH_RUNNING: ReadonlySet<string> = new Set(['not_started', 'missing', 'late', 'overrun', 'failed']);

const fromText = (source: string | null): string => (source === null ? '' : ` from ${plain(source, 60)}`);
