import { isDeepStrictEqual } from 'node:util';
import type { EditLine } from '../core/report.ts';
import { describeSchedules, type ScheduleSpec } from '../core/schedule.ts';
import { formatInstant } from '../core/time.ts';
import { UTC_TABLE, zoneOf } from '../core/zone.ts';
import type { ScheduleEdit } from '../store/report-events.ts';

/** A schedule edit in words. */
export function editLine(edit: ScheduleEdit): EditLine {
  const { slug, at, actor } = edit;
  return { job: slug, at: formatInstant(at), actor, changes: changesOf(edit) };
}

function changesOf(edit: ScheduleEdit): readonly string[] {
  if (edit.kind === 'tz') {
    const { tzVersion, was, is } = edit;
    const moved = was === null && is === null ? '' : `: ${was ?? 'nothing'} becomes ${is ?? 'nothing'}`;
    return [`new time zone data ${tzVersion}${moved}`];
  }
  const { from, to } = edit;
  return [
    ...(isDeepStrictEqual(from.schedules, to.schedules)
      ? []
      : [`schedule ${inWords(from.schedules)} becomes ${inWords(to.schedules)}`]),
    ...(from.zone === to.zone ? [] : [`zone ${from.zone} becomes ${to.zone}`]),
  ];
}

/** Without the zone, which is said only where it changes. One that makes no sense any more is shown as it was stored. */
function inWords(schedules: readonly ScheduleSpec[]): string {
  try {
    return describeSchedules(schedules, zoneOf(UTC_TABLE)).replace(/ \(UTC\)$/, '');
  } catch {
    return JSON.stringify(schedules);
  }
}
