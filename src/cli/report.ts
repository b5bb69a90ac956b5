import { z } from 'zod';
import type { Report } from '../core/report.ts';
import type { Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import { reportText } from '../notify/report-text.ts';
import { isSlug } from '../web/api/slug.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, refusedCall } from './remote.ts';

export type ReportOptions = { readonly json?: boolean; readonly period?: string };
export type ReportCommandDeps = CommandDeps & { readonly zones: { get(name: string): Result<Zone> } };

/** Enough to know that it is a report; the rest is as the API of this version writes it. */
const reportShape = z.custom<Report>(
  (value) =>
    z
      .object({ slug: z.string(), period: z.object({ name: z.string() }), worst_jobs: z.array(z.unknown()) })
      .safeParse(value).success,
);

/** `rollcall report SLUG`: what the report of a period says. Nothing is sent. */
export async function report(
  slug: string,
  { json = false, period }: ReportOptions,
  { ask, zones, ...output }: ReportCommandDeps,
): Promise<ExitCode> {
  if (!isSlug(slug)) {
    const reason = `no report is called ${JSON.stringify(slug)}: a slug is 1 to 100 of a-z, 0-9, "-" and "_"`;
    return giveUp(output, refusedCall(reason), json);
  }
  const query = period === undefined ? '' : `?period=${encodeURIComponent(period)}`;
  const answer = await ask({ path: `/reports/${slug}/preview${query}`, shape: reportShape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : reportText(answer.value, zones));
  return EXIT.done;
}
