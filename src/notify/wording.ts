import { groupBy } from '../core/group.ts';
import type { OpenProblem } from '../store/open-problems.ts';
import type { Batch, ChannelContext, IncidentEvent, NoticeEvent } from './channel.ts';
import { dateOf, KINDS, plain, timeText, WORST_FIRST } from './phrases.ts';
import { type IncidentTopic, type Story, type Telling, whenText } from './story.ts';
import { incidentStory, isOpen, leadTime } from './story-incident.ts';
import { noticeStory } from './story-notice.ts';

/** A batch in words, the same for every way of showing it. */
export type Wording = {
  /** For a list of mails: the kind first, then the job, then the due time. */
  readonly subject: string;
  /** The line a person sees on a locked phone. */
  readonly headline: string;
  /** The worst ten. */
  readonly stories: readonly Story[];
  /** Everything else, by name. */
  readonly rest: readonly Rest[];
  /** What else is open in the project; null: nothing to say. */
  readonly others: Rest | null;
  /** Where the rest is. */
  readonly link: string;
};

/** `also missing (37): a, b, c`. */
export type Rest = {
  readonly label: string;
  readonly names: readonly string[];
  /** An end that is named nowhere leaves people looking for a problem that is over. */
  readonly mood: Story['mood'];
};

/** Stories at most, those told in full, and lines about occurrences in one message. */
const MOST_STORIES = 10;
const FULL_STORIES = 3;
const MOST_LINES = 100;

/** Characters of a headline and of a subject about many; the headline, with its date and mark, fits a header of Slack. */
const HEADLINE = 130;
const SUBJECT = 120;
/** So few are all named in the headline, even if that makes it longer. */
const ALL_NAMED = 8;
const LONG_HEADLINE = 280;

type Topic = IncidentTopic | { readonly notice: NoticeEvent };

/** Puts a batch into words. `publicUrl` is where the reader is sent for the rest. */
export function wording(batch: Batch, { zones, publicUrl }: Pick<ChannelContext, 'zones' | 'publicUrl'>): Wording {
  const topics = topicsOf(batch);
  const shown = topics.slice(0, MOST_STORIES);
  const date = topics.length > 1 ? commonDate(topics, zones) : null;
  const telling: Telling = {
    zones,
    now: batch.sentAt,
    date,
    isFull: topics.length <= FULL_STORIES,
    lines: Math.floor(MOST_LINES / Math.max(1, shown.length)),
  };
  const stories = shown.map((topic) =>
    'notice' in topic ? noticeStory(topic.notice, telling) : incidentStory(topic, telling),
  );
  const [topic] = topics;
  const [story] = stories;
  const isAlone = topics.length === 1 && topic && story;
  const day = date === null ? '' : `, on ${date}`;
  return {
    subject: isAlone ? subjectOf(topic, zones) : groupLine(topics, SUBJECT),
    headline: isAlone ? story.title : `${groupLine(topics, HEADLINE, LONG_HEADLINE)}${day}`,
    stories,
    rest: restOf(topics.slice(MOST_STORIES)),
    others: othersOf(batch, zones),
    link: linkOf(batch, publicUrl),
  };
}

/** The page of the one job that all of it is about, else that of the project; the home page where no project is known. */
function linkOf({ events, project }: Batch, publicUrl: string): string {
  const home = publicUrl.replace(/\/+$/, '');
  if (project === undefined) return `${home}/`;
  const slugs = new Set(events.map((event) => (event.type === 'notice' ? null : event.job.slug)));
  const [slug] = slugs;
  return `${home}/projects/${project}${slugs.size === 1 && slug ? `/jobs/${slug}` : ''}`;
}

function topicsOf({ events }: Batch): readonly Topic[] {
  const incidents = new Map<number, { last: IncidentEvent; hasProblem: boolean }>();
  const notices: Topic[] = [];
  for (const event of events) {
    if (event.type === 'notice') notices.push({ notice: event });
    else {
      const isProblem = event.type !== 'incident.resolved';
      const hasProblem = isProblem || incidents.get(event.incident.id)?.hasProblem === true;
      incidents.set(event.incident.id, { last: event, hasProblem });
    }
  }
  // Jobs of one transaction come in any order.
  const topics = [...incidents.values()].sort(byWorstFirst);
  const problems = topics.filter(isOpen);
  // Notices are few and about Rollcall itself: a storm must not push them out of sight.
  const worst = problems.slice(0, Math.max(0, MOST_STORIES - notices.length));
  return [...worst, ...notices, ...problems.slice(worst.length), ...topics.filter((topic) => !isOpen(topic))];
}

/** By kind, then due instant, then slug. */
function byWorstFirst({ last: a }: IncidentTopic, { last: b }: IncidentTopic): number {
  const kind = WORST_FIRST.indexOf(a.incident.kind) - WORST_FIRST.indexOf(b.incident.kind);
  const [dueA, dueB] = [a, b].map(({ occurrences }) => occurrences[0]?.scheduledFor ?? 0);
  const slug = a.job.slug < b.job.slug ? -1 : 1;
  return kind || (dueA ?? 0) - (dueB ?? 0) || slug;
}

/** The date of most stories, to be said once for all of them. */
function commonDate(topics: readonly Topic[], zones: ChannelContext['zones']): string | null {
  const times = topics.flatMap((topic) => ('notice' in topic ? [] : (leadTime(topic, zones) ?? [])));
  const [most] = [...groupBy(times.map(dateOf), (date) => date).entries()].sort(
    ([dateA, a], [dateB, b]) => b.length - a.length || (dateA < dateB ? 1 : -1),
  );
  return most && most[1].length > 1 ? most[0] : null;
}

function wordOf(topic: Topic): string {
  if ('notice' in topic) return 'notice';
  return isOpen(topic) ? KINDS[topic.last.incident.kind].word : 'recovered';
}

function pluralOf(topic: Topic): string {
  if ('notice' in topic) return 'notices';
  const { word, words = word } = KINDS[topic.last.incident.kind];
  return isOpen(topic) ? words : 'recovered';
}

const nameOf = (topic: Topic): string => ('notice' in topic ? 'Rollcall' : topic.last.job.slug);

type Group = {
  readonly label: string;
  readonly count: number;
  readonly names: readonly string[];
  readonly mood: Story['mood'];
};

function groupsOf(topics: readonly Topic[]): readonly Group[] {
  return [...groupBy(topics, wordOf)].flatMap(([word, group]) => {
    const [first] = group;
    if (!first) return [];
    const mood = 'notice' in first ? 'notice' : isOpen(first) ? 'problem' : 'recovered';
    const label = group.length > 1 ? pluralOf(first) : word;
    return [{ label, count: group.length, names: [...new Set(group.map(nameOf))], mood }];
  });
}

/** `600 missing (job-1, job-10, job-100 and 597 more), 3 failed (…)`, with as many names as fit. */
function groupLine(topics: readonly Topic[], limit: number, limitOfFew = limit): string {
  const groups = groupsOf(topics);
  const lineOf = (most: number): string =>
    groups.map(({ label, count, names }) => `${count} ${label}${most > 0 ? namesOf(names, most) : ''}`).join(', ');
  const all = lineOf(ALL_NAMED);
  if (topics.length <= ALL_NAMED && all.length <= limitOfFew) return all;
  return [3, 2, 1].map(lineOf).find((line) => line.length <= limit) ?? lineOf(0);
}

function namesOf(names: readonly string[], most: number): string {
  const more = names.length - most;
  return ` (${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

function restOf(topics: readonly Topic[]): readonly Rest[] {
  return groupsOf(topics).map(({ label, count, names, mood }) => ({ label: `also ${label} (${count})`, names, mood }));
}

function othersOf({ events, others }: Batch, zones: ChannelContext['zones']): Rest | null {
  if (others === undefined) return null;
  const label = 'Other open problems of the project';
  const { count, worst } = others;
  if (count > 0) {
    const more = count > worst.length ? [`and ${count - worst.length} more`] : [];
    const names = [...worst.map((problem) => otherText(problem, zones)), ...more];
    return { label: `${label} (${count})`, names, mood: 'problem' };
  }
  // Where all is well again, that is news.
  const isOver = events.every(({ type }) => type === 'incident.resolved');
  return isOver ? { label, names: ['none'], mood: 'recovered' } : null;
}

function otherText({ slug, kind, zone, openedAt, isAcked, snoozedUntil }: OpenProblem, zones: ChannelContext['zones']) {
  const snoozed = snoozedUntil === null ? null : `snoozed until ${timeText(snoozedUntil, zone, zones)}`;
  const aside = snoozed ?? (isAcked ? 'acknowledged' : null);
  const since = timeText(openedAt, zone, zones);
  return `${slug} ${KINDS[kind].word} since ${since}${aside === null ? '' : ` (${aside})`}`;
}

function subjectOf(topic: Topic, zones: ChannelContext['zones']): string {
  if ('notice' in topic)
    return `${topic.notice.notice.kind === 'unknown' ? 'unknown' : 'notice'}: ${plain(topic.notice.notice.text, 100)}`;
  const { last, hasProblem } = topic;
  const { job, incident, type, again } = last;
  const { word } = KINDS[incident.kind];
  const [first] = last.occurrences;
  const due = first ? whenText(first, job, zones) : timeText(incident.openedAt, job.zone, zones);
  if (isOpen(topic)) {
    const isAgain = type === 'incident.reminded';
    return `${word}${isAgain ? (again === undefined ? ' again' : ', still open') : ''}: ${job.slug} (${due})`;
  }
  const more = incident.occurrenceCount > 1 ? ` and ${incident.occurrenceCount - 1} more` : '';
  const about = `${hasProblem ? '' : `${word} `}${due}${more}`;
  return `${hasProblem ? `${word}, recovered since` : 'recovered'}: ${job.slug} (${about})`;
}
