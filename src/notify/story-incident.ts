import type { MessageJob } from '../core/message.ts';
import { dateOf, keyText, plain, timeText, undated } from './phrases.ts';
import { type IncidentTopic, inOrder, runsPart, type Short, type Story, type Telling, whenText } from './story.ts';
import { problemLabel, problemParts, problemTitle } from './story-problem.ts';
import { endingOf, MOST_NAMED, recoveryFacts, recoveryTitle } from './story-recovery.ts';

export const isOpen = ({ last }: IncidentTopic): boolean => last.type !== 'incident.resolved';

/** The time that stands first in the title, with its date; null where there is none. */
export function leadTime({ last }: IncidentTopic, zones: Telling['zones']): string | null {
  const [first] = inOrder(last);
  if (last.type === 'incident.resolved') {
    const { key, at } = endingOf(last);
    if (key !== null) return at === undefined ? keyText(key) : timeText(at, last.job.zone, zones);
    return first === undefined ? null : whenText(first, last.job, zones);
  }
  if (last.incident.kind === 'unscheduled') return timeText(last.incident.openedAt, last.job.zone, zones);
  return last.occurrences[0] ? whenText(last.occurrences[0], last.job, zones) : null;
}

/** Tells one incident. */
export function incidentStory(topic: IncidentTopic, telling: Telling): Story {
  const { last } = topic;
  const lead = leadTime(topic, telling.zones);
  const own = lead === null ? null : dateOf(lead);
  // A story of another day says its own date once, and after that nothing may be left to guess.
  const near = telling.date === null || telling.date === own ? own : null;
  const short: Short = (text) => undated(text, near);
  const first = lead === null ? null : undated(lead, telling.date);
  const name = nameOf(last.job, !telling.isFull);
  if (isOpen(topic)) {
    const parts = telling.isFull ? problemParts(last, telling, short) : [];
    return { mood: 'problem', label: problemLabel(last), title: `${name} ${problemTitle(last, first)}`, parts };
  }
  const runs = last.incident.occurrenceCount > MOST_NAMED ? [runsPart(last, telling, short)] : [];
  const facts = telling.isFull ? [recoveryFacts(last, telling.zones, short)] : [];
  const title = `${name} ${recoveryTitle(topic, first, { short, zones: telling.zones })}`;
  return { mood: 'recovered', label: 'recovered', title, parts: [...runs, ...facts] };
}

function nameOf({ name, slug }: MessageJob, withSlug: boolean): string {
  const shown = plain(name, 80);
  return withSlug && shown !== slug ? `${shown} (${slug})` : shown;
}
