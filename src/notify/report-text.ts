import type { Report } from '../core/report.ts';
import type { ChannelContext } from './channel.ts';
import { headOf } from './report-head.ts';
import { type Row, type Section, sectionsOf } from './report-sections.ts';

/** A report as text, for the text part of a mail and for the command line; the first line says the most important. */
export function reportText(report: Report, zones: ChannelContext['zones']): string {
  const head = headOf(report, zones);
  const top = [
    `${head.title}: ${head.shareText}`,
    `${head.of}${head.others === '' ? '' : `: ${head.others}`}`,
    ...(head.apart === '' ? [] : [`Apart: ${head.apart}`]),
    `${head.span}, as of ${head.asOf}`,
  ];
  const parts = [top, head.warnings, ...sectionsOf(report, zones).map(sectionLines), [head.formula]];
  return `${parts
    .filter(({ length }) => length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function sectionLines({ title, rows, notes, ways }: Section): readonly string[] {
  const width = Math.max(0, ...rows.map(({ figure }) => figure?.length ?? 0));
  return [
    title.toUpperCase(),
    ...rows.flatMap((row) => rowLines(row, width)),
    ...notes,
    ...ways.flatMap(({ says, line }) => [says, `  ${line}`]),
  ];
}

/** The figure in a column of its own, what there is to know below the name. */
function rowLines({ name, figure, details }: Row, width: number): readonly string[] {
  const lead = width === 0 ? '' : `${(figure ?? '').padStart(width)}  `;
  const margin = ' '.repeat(width === 0 ? 2 : lead.length);
  return [`${lead}${name}`, ...details.map((detail) => `${margin}${detail}`)];
}
