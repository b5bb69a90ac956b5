import type { IncidentKind, IncidentMessage, MessageJob, MessageOccurrence } from '../core/message.ts';
import type { Batch, ChannelContext, NoticeEvent } from './channel.ts';
import { KINDS, keyText, plain, span, stateText, timeText, WORST_FIRST, whatNow } from './phrases.ts';

type Zones = ChannelContext['zones'];
export type Fact = { readonly label: string; readonly text: string };

/** One incident (or notice) as people read it. Plain text throughout: whoever shows it escapes it. */
export type Story = {
  readonly mood: 'problem' | 'recovered' | 'notice';
  /** Says everything by itself. */
  readonly title: string;
  readonly facts: readonly Fact[];
  /** One line for each occurrence, and what became of it. */
  readonly occurrences: readonly string[];
  readonly output: string | null;
};

/** A batch in words, the same for every way of showing it. */
export type Wording = {
  /** For a list of mails: the kind first, then the job, then the due time. */
  readonly subject: string;
  /** The line a person sees on a locked phone. */
  readonly headline: string;
  /** The worst ten. */
  readonly stories: readonly Story[];
  /** How many are not shown. */
  readonly more: number;
  readonly link: string;
};

/** Stories at most, those told in full, and lines about occurrences in one message. */
const MOST_STORIES = 10;
const FULL_STORIES = 3;
const MOST_LINES = 100;

/** All events of one incident in this batch: a problem, its end, or both. */
type Topic = { readonly last: IncidentMessage; readonly hasProblem: boolean } | { readonly notice: NoticeEvent };

/** Puts a batch into words. `publicUrl` is where the reader is sent for the rest. */
export function wording(batch: Batch, { zones, publicUrl }: Pick<ChannelContext, 'zones' | 'publicUrl'>): Wording {
  const topics = topicsOf(batch);
  const shown = topics.slice(0, MOST_STORIES);
  const isFull = topics.length <= FULL_STORIES;
  const lines = Math.floor(MOST_LINES / Math.max(1, shown.length));
  const stories = shown.map((topic) =>
    'notice' in topic ? noticeStory(topic.notice, zones, lines) : incidentStory(topic, zones, { isFull, lines }),
  );
  const [only] = stories;
  const counts = countWords(topics);
  const isAlone = topics.length === 1 && only !== undefined;
  return {
    subject: isAlone ? subjectOf(topics[0] as Topic) : `${counts}: ${namesOf(topics, 1)}`,
    headline: isAlone ? only.title : `${counts}: ${namesOf(topics, 3)}`,
    stories,
    more: topics.length - shown.length,
    link: `${publicUrl.replace(/\/+$/, '')}/`,
  };
}

function topicsOf({ events }: Batch): readonly Topic[] {
  const incidents = new Map<number, { last: IncidentMessage; hasProblem: boolean }>();
  const notices: Topic[] = [];
  for (const event of events) {
    if (event.type === 'notice') notices.push({ notice: event });
    else {
      const isProblem = event.type !== 'incident.resolved';
      const hasProblem = isProblem || incidents.get(event.incident.id)?.hasProblem === true;
      incidents.set(event.incident.id, { last: event, hasProblem });
    }
  }
  const topics = [...incidents.values()].sort((a, b) => badness(a) - badness(b));
  const problems = topics.filter(isOpen);
  // Notices are few and about Rollcall itself: a storm must not push them out of sight.
  const worst = problems.slice(0, Math.max(0, MOST_STORIES - notices.length));
  return [...worst, ...notices, ...problems.slice(worst.length), ...topics.filter((topic) => !isOpen(topic))];
}

const isOpen = ({ last }: { last: IncidentMessage }): boolean => last.type !== 'incident.resolved';
const badness = ({ last }: { last: IncidentMessage }): number => WORST_FIRST.indexOf(last.incident.kind);

function wordOf(topic: Topic): string {
  if ('notice' in topic) return 'notice';
  return isOpen(topic) ? KINDS[topic.last.incident.kind].word : 'recovered';
}

/** `900 missing, 3 failed, 2 recovered`. */
function countWords(topics: readonly Topic[]): string {
  const counts = new Map<string, number>();
  for (const topic of topics) counts.set(wordOf(topic), (counts.get(wordOf(topic)) ?? 0) + 1);
  const plural = (word: string, count: number): string => (word === 'notice' && count > 1 ? 'notices' : word);
  return [...counts].map(([word, count]) => `${count} ${plural(word, count)}`).join(', ');
}

function namesOf(topics: readonly Topic[], most: number): string {
  const names = [...new Set(topics.map((topic) => ('notice' in topic ? 'Rollcall' : topic.last.job.slug)))];
  const rest = names.length - most;
  return names.slice(0, most).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function subjectOf(topic: Topic): string {
  if ('notice' in topic)
    return `${topic.notice.notice.kind === 'unknown' ? 'unknown' : 'notice'}: ${plain(topic.notice.notice.text, 100)}`;
  const { last, hasProblem } = topic;
  const { kind, occurrenceCount } = last.incident;
  const [first] = last.occurrences;
  const more = !isOpen(topic) && occurrenceCount > 1 ? ` and ${occurrenceCount - 1} more` : '';
  const due = first ? ` (${keyText(first.key)}${more})` : '';
  if (isOpen(topic)) {
    const again = last.type === 'incident.reminded' ? ' again' : '';
    return `${KINDS[kind].word}${again}: ${last.job.slug}${due}`;
  }
  return `${hasProblem ? `${KINDS[kind].word}, recovered since` : 'recovered'}: ${last.job.slug}${due}`;
}

type Extent = { readonly isFull: boolean; readonly lines: number };

function incidentStory(topic: Exclude<Topic, { notice: unknown }>, zones: Zones, { isFull, lines }: Extent): Story {
  const { last } = topic;
  const { job, occurrences, incident, facts } = last;
  const name = nameOf(job, !isFull);
  const listed = occurrences.map((it) => `${keyText(it.key)}: ${stateText(it.state)}`);
  const missing = incident.occurrenceCount - Math.min(lines, listed.length);
  // A single one stands in the title already.
  const all =
    incident.occurrenceCount > 1 ? [...listed.slice(0, lines), ...(missing > 0 ? [`and ${missing} more`] : [])] : [];
  if (!isOpen(topic)) {
    const what = KINDS[incident.kind].word;
    const was = topic.hasProblem ? `was ${what} and has recovered` : `has recovered (was ${what})`;
    const facts = isFull ? recoveryFacts(last, zones) : [];
    const title = `${name} ${was}${tally(occurrences, incident.occurrenceCount)}`;
    return { mood: 'recovered', title, facts, occurrences: all, output: null };
  }
  return {
    mood: 'problem',
    title: `${name} ${problemTitle(last)}`,
    facts: isFull ? problemFacts(last, zones) : [],
    occurrences: isFull ? all : [],
    output: isFull ? facts.output : null,
  };
}

function problemTitle({ type, incident, occurrences, facts }: IncidentMessage): string {
  const [first] = occurrences;
  const again = type === 'incident.reminded' ? 'again ' : '';
  const code = incident.kind === 'failed' && facts.exitCode !== null ? ` (exit code ${facts.exitCode})` : '';
  const due = first ? `: due ${keyText(first.key)}` : '';
  const detail = incident.kind === 'schedule_error' && facts.detail ? `: ${plain(facts.detail, 200)}` : '';
  return `${again}${KINDS[incident.kind].says}${code}${due}${detail}`;
}

const EXPECTED: Partial<Record<IncidentKind, string>> = {
  not_started: 'Start expected by',
  overrun: 'Should have ended by',
};

function problemFacts({ incident, job, occurrences, facts, type }: IncidentMessage, zones: Zones): readonly Fact[] {
  const [first] = occurrences;
  const list: Fact[] = [jobFact(job)];
  const add = (label: string, text: string): unknown => list.push({ label, text });
  if (facts.expectedBy !== null && incident.kind !== 'duplicate') {
    const after = first ? ` (${span(facts.expectedBy - first.scheduledFor)} after it was due)` : '';
    add(EXPECTED[incident.kind] ?? 'Expected by', `${timeText(facts.expectedBy, job.zone, zones)}${after}`);
  }
  if (incident.kind === 'unscheduled') add('Reported at', timeText(incident.openedAt, job.zone, zones));
  if (facts.before) add('Before', `this run was reported as ${KINDS[facts.before].word}`);
  if (type === 'incident.reminded') add('Open since', timeText(incident.openedAt, job.zone, zones));
  add('Last completed', facts.lastCompleted === null ? 'none yet' : keyText(facts.lastCompleted));
  add('What now', whatNow(incident.kind, facts.missedRuns, first ?? null, job));
  return list;
}

function jobFact({ slug, tags, zone }: MessageJob): Fact {
  const tagged = tags.length > 0 ? ` [${plain(tags.join(', '), 200)}]` : '';
  return { label: 'Job', text: `${slug}${tagged}, times are ${zone}` };
}

function recoveryFacts({ incident, job }: IncidentMessage, zones: Zones): readonly Fact[] {
  const { openedAt, resolvedAt } = incident;
  if (resolvedAt === null) return [jobFact(job)];
  const from = timeText(openedAt, job.zone, zones);
  return [
    jobFact(job),
    {
      label: 'Open',
      text: `from ${from} to ${timeText(resolvedAt, job.zone, zones)} (${span(resolvedAt - openedAt)})`,
    },
  ];
}

function noticeStory({ notice, occurrences, occurrenceCount }: NoticeEvent, zones: Zones, lines: number): Story {
  const list = occurrences
    .slice(0, lines)
    .map(({ job, key, state }) => `${job.slug}, ${keyText(key)}: ${stateText(state)}`);
  const rest = occurrenceCount - list.length;
  const facts = [{ label: 'Time', text: timeText(notice.at, 'UTC', zones) }];
  if (notice.kind === 'unknown') {
    facts.push({
      label: 'What now',
      text: 'Check whether these ran. A run that did: ping with its key (occ=…), or settle it by hand in the API.',
    });
  }
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return { mood: 'notice', title: plain(notice.text, 500), facts, occurrences: [...list, ...more], output: null };
}

/** `: due … completed late`, or `: 2 completed late, 1 never ran` for several. */
function tally(occurrences: readonly MessageOccurrence[], count: number): string {
  const [first] = occurrences;
  if (!first) return '';
  if (count === 1) return `: ${keyText(first.key)} ${stateText(first.state)}`;
  const counts = new Map<string, number>();
  for (const { state } of occurrences) counts.set(state, (counts.get(state) ?? 0) + 1);
  const parts = [...counts].map(([state, times]) => `${times} ${stateText(state)}`);
  return `: ${[...parts, ...(count > occurrences.length ? [`${count - occurrences.length} more`] : [])].join(', ')}`;
}

function nameOf({ name, slug }: MessageJob, withSlug: boolean): string {
  const shown = plain(name, 80);
  return withSlug && shown !== slug ? `${shown} (${slug})` : shown;
}
