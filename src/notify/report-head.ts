import type { Report, Tally } from '../core/report.ts';
import { comparison, countText, periodText, shareText } from '../core/report-words.ts';
import type { ChannelContext } from './channel.ts';
import { plain } from './phrases.ts';
import { leftOut, notOnTime, timeIn } from './report-sections.ts';

/** What stands above the sections of a report. */
export type Head = {
  /** Which project and period. */
  readonly title: string;
  readonly share: number | null;
  readonly shareText: string;
  /** `1,234 of 1,255 runs, up from 97.0 % in Sep 2026`. */
  readonly of: string;
  /** What was not on time, or that nothing was; empty: nothing counts. */
  readonly others: string;
  /** What does not count; empty: nothing. */
  readonly apart: string;
  /** From when to when. */
  readonly span: string;
  readonly asOf: string;
  /** What is missing, or not what it seems. */
  readonly warnings: readonly string[];
  /** How the share comes about. */
  readonly formula: string;
};

const FORMULA =
  'On time: the share of all due runs whose outcome is known. Whatever was late, failed, missed, not completed or covered by a ' +
  'later run was not on time. Skipped and unknown runs do not count. A job counts from its creation.';

export function headOf(report: Report, zones: ChannelContext['zones']): Head {
  const { project, period, occurrences: tally, zone } = report;
  const time = (instant: string): string => timeIn(zone, instant, zones);
  const so = period.is_complete ? '' : ' so far';
  const compared = comparison(report);
  return {
    title: `${plain(project.name, 100)}, ${periodText(period)}${so}`,
    share: tally.on_time_share,
    shareText: tally.on_time_share === null ? 'No data' : `${shareText(tally.on_time_share)} on time`,
    of: `${ofText(tally)}${compared === '' ? '' : `, ${compared}`}`,
    others: othersText(tally),
    apart: leftOut(tally),
    span: `${time(period.starts_at)} to ${time(period.ends_at)} (${zone})`,
    asOf: time(report.as_of),
    warnings: warningsOf(report),
    formula: FORMULA,
  };
}

function ofText({ counted, on_time }: Tally): string {
  return counted === 0 ? 'no run was due that counts' : `${countText(on_time)} of ${countText(counted)} runs`;
}

function othersText(tally: Tally): string {
  const others = notOnTime(tally);
  return others === '' && tally.counted > 0 ? 'nothing was late, failed or missed' : others;
}

function warningsOf({ unreported: gap, slug, every, tags }: Report): readonly string[] {
  const only = tags === null ? [] : [`Only jobs tagged ${tags.map((tag) => plain(tag, 50)).join(' or ')}.`];
  if (gap === null) return only;
  const [which, it] =
    gap.count === 1
      ? [gap.first, 'it was']
      : [`the ${gap.count} ${every}s before, ${gap.first} to ${gap.last}`, 'they were'];
  return [
    `No report was sent of ${which}: Rollcall did not run, or could not make it, when ${it} due. To see one: rollcall report ${slug} --period ${gap.last}`,
    ...only,
  ];
}
