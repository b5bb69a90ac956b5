import type { MaintenanceDefinition, When } from '../../../core/maintenance.ts';
import { scheduleWords, spokenMs } from '../job/words.ts';
import { DAYS } from './draft.ts';

/** When a window is, in words. */
export function whenWords(when: When): string {
  switch (when.kind) {
    case 'once':
      return `Once, for ${spokenMs(when.until - when.from)}`;
    case 'weekly':
      return when.weekly
        .map(({ days, start, duration }) => `${daysWords(days)} ${start} for ${spokenMs(duration * 1000)}`)
        .join('; ');
    case 'cron':
      return `${scheduleWords({ cron: when.cron })}, for ${spokenMs(when.duration * 1000)}`;
    case 'calendar':
      return `${when.events.length} ${when.events.length === 1 ? 'event' : 'events'} of ${when.url === null ? 'a calendar given as text' : new URL(when.url).host}`;
    default:
      return when satisfies never;
  }
}

function daysWords(days: readonly string[]): string {
  if (days.length === 7) return 'Every day';
  const named = DAYS.filter((day) => days.includes(day)).map((day) => day.charAt(0).toUpperCase() + day.slice(1));
  return named.join(', ');
}

/** Whom a window is about. */
export function whomWords({ jobs, tags }: Pick<MaintenanceDefinition, 'jobs' | 'tags'>): string {
  if (jobs === null && tags === null) return 'Every job of the project';
  const parts = [
    ...(jobs === null ? [] : [listed(jobs)]),
    ...(tags === null ? [] : [`jobs tagged ${tags.join(' or ')}`]),
  ];
  return parts.join(', and ');
}

const MOST_NAMED = 5;

function listed(jobs: readonly string[]): string {
  if (jobs.length <= MOST_NAMED) return jobs.join(', ');
  return `${jobs.slice(0, MOST_NAMED).join(', ')} and ${jobs.length - MOST_NAMED} more`;
}
