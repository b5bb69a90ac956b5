import type { PublicStatus } from '../../engine/status-pages-view.ts';
import { escaped, type Rendered, type Shown } from './representation.ts';
import { type Overall, overallOf, STATUS_WORDS } from './words.ts';

/** What a badge is about: a job or a group by its public id, or with neither the page. */
export type BadgeOf = { readonly job: string | undefined; readonly group: string | undefined };

type Badge = { readonly label: string; readonly message: string; readonly color: Color };

/** Dark enough for white text on them (WCAG AA). */
const COLORS = { ok: '#1b7a55', late: '#94600a', bad: '#b8301c', unknown: '#6b4fa0', mute: '#5b636b' } as const;
type Color = keyof typeof COLORS;

const STATUS_COLORS: Readonly<Record<PublicStatus, Color>> = {
  up: 'ok',
  late: 'late',
  down: 'bad',
  blocked: 'mute',
  paused: 'mute',
  new: 'mute',
  unknown: 'unknown',
  maintenance: 'mute',
};
const OVERALL_COLORS: Readonly<Record<Overall['status'], Color>> = {
  ok: 'ok',
  trouble: 'bad',
  unknown: 'unknown',
  empty: 'mute',
};

/** For the endpoint badge of Shields; null: the page has no such job or group. */
export function badgeJson(shown: Shown, of: BadgeOf): Rendered | null {
  const badge = badgeOf(shown, of);
  if (badge === null) return null;
  const { label, message, color } = badge;
  const isError = color === 'bad' ? { isError: true } : {};
  const body = { schemaVersion: 1, label, message, color: COLORS[color].slice(1), ...isError };
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(body) };
}

/** The same as an image; null: the page has no such job or group. */
export function badgeSvg(shown: Shown, of: BadgeOf): Rendered | null {
  const badge = badgeOf(shown, of);
  return badge && { type: 'image/svg+xml; charset=utf-8', body: svgOf(badge) };
}

function badgeOf({ view, isStale }: Shown, { job: jobId, group: groupId }: BadgeOf): Badge | null {
  const group = groupId === undefined ? undefined : view.groups.find(({ id }) => id === groupId);
  if (groupId !== undefined && !group) return null;
  const groups = group ? [group] : view.groups;
  const label = group?.name ?? view.title;
  if (isStale) return { label, message: 'not known', color: 'unknown' };
  if (jobId === undefined) {
    const overall = overallOf(groups);
    return { label, message: shortText(overall), color: OVERALL_COLORS[overall.status] };
  }
  const job = groups.flatMap(({ jobs }) => jobs).find(({ id }) => id === jobId);
  if (!job) return null;
  return { label: job.name, message: STATUS_WORDS[job.status][0], color: STATUS_COLORS[job.status] };
}

function shortText({ status, jobs, troubled, unknown }: Overall): string {
  if (status === 'ok') return 'as expected';
  if (status === 'empty') return 'no run yet';
  return status === 'trouble' ? `${troubled} of ${jobs} in trouble` : `${unknown} of ${jobs} unknown`;
}

/** About what Verdana of 11 px takes; textLength makes it exact whatever font there is. */
const widthOf = (text: string): number => [...text].reduce((sum, c) => sum + (/[il.,:;'|! ]/.test(c) ? 4 : 7), 0);

const MOST_LABEL = 60;

function svgOf({ label: whole, message, color }: Badge): string {
  const label = [...whole].length > MOST_LABEL ? `${[...whole].slice(0, MOST_LABEL - 1).join('')}…` : whole;
  const [left, right] = [widthOf(label), widthOf(message)];
  const width = left + right + 24;
  const text = (words: string, x: number, length: number) =>
    `<text x="${x}" y="14" textLength="${length}" lengthAdjust="spacingAndGlyphs">${escaped(words)}</text>`;
  const name = escaped(`${whole}: ${message}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${name}"><title>${name}</title><clipPath id="r"><rect width="${width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><path fill="#3d444b" d="M0 0h${left + 12}v20H0z"/><path fill="${COLORS[color]}" d="M${left + 12} 0h${right + 12}v20h-${right + 12}z"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${text(label, 6, left)}${text(message, left + 18, right)}</g></svg>`;
}
