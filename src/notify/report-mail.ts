import type { Report } from '../core/report.ts';
import { headline } from '../core/report-words.ts';
import type { ChannelContext } from './channel.ts';
import type { MailFoot } from './mail-foot.ts';
import { plain } from './phrases.ts';
import { headOf } from './report-head.ts';
import { reportHtml } from './report-html.tsx';
import { sectionsOf } from './report-sections.ts';
import { reportText } from './report-text.ts';

/** A report as a mail: text and HTML say the same. */
export type ReportMail = { readonly subject: string; readonly text: string; readonly html: string };

/** Puts a report into words for a mail. */
export function reportMail(
  report: Report,
  { publicUrl, zones }: Pick<ChannelContext, 'publicUrl' | 'zones'>,
  foot: MailFoot,
): ReportMail {
  const link = `${publicUrl.replace(/\/+$/, '')}/projects/${report.project.slug}/reports/${report.slug}`;
  const end = foot.unsubscribeUrl === null ? '' : `No more of these to ${foot.to}: ${foot.unsubscribeUrl}\n`;
  const head = headOf(report, zones);
  return {
    subject: plain(headline(report), 150),
    text: `${reportText(report, zones)}\nRollcall: ${link}\n${end}`,
    html: reportHtml({ head, sections: sectionsOf(report, zones), link, foot }),
  };
}
