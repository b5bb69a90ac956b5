import type { JobView } from './frame.tsx';

/** The address of a job's pings; for those who may not see it, the name of a variable that has it. */
export function pingUrlOf({ job }: JobView): string {
  return job.json.ping_url ?? '$PING_URL';
}

/** curl as docs/pinging.md has it: it comes again, and says nothing when all is well. */
export const CURL = 'curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null';

/** Lines by which an occurrence is done, the best first; one that is not owed is handed out to nobody. */
export function payLines(
  view: JobView,
  { key, isOwed }: { readonly key: string; readonly isOwed: boolean },
): readonly { readonly says: string; readonly line: string }[] {
  const { schedules } = view.job.stored.definition;
  if (schedules.some((spec) => 'heartbeat' in spec))
    return [{ says: 'The next ping of this job settles it:', line: `${CURL} "${pingUrlOf(view)}"` }];
  const exec = `rollcall exec ${view.job.stored.slug} --catch-up -- COMMAND`;
  return [
    ...(isOwed ? [{ says: 'Run what is owed, on its host, the oldest first:', line: exec }] : []),
    {
      says: 'If it was run already, or you run it by hand, report it by its key:',
      line: `${CURL} "${pingUrlOf(view)}/0?occ=${key}"`,
    },
  ];
}
