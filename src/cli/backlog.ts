import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, jobPath, refusedCall } from './remote.ts';

const shape = z.object({ until: z.string(), count: z.number() });

/** `rollcall backlog JOB run|skip`: a person's word on everything that is owed or unconfirmed now. */
export async function backlog(
  slug: string,
  decision: string,
  json: boolean,
  { ask, ...output }: CommandDeps,
): Promise<ExitCode> {
  const job = jobPath(slug);
  if (!job.ok) return giveUp(output, job, json);
  if (decision !== 'run' && decision !== 'skip') {
    const refused = refusedCall(`${JSON.stringify(decision)} is no decision: write run or skip`);
    return giveUp(output, refused, json);
  }
  const answer = await ask({ method: 'POST', path: `${job.path}/backlog`, body: { decision }, shape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(`${json ? JSON.stringify(answer.json) : inWords(slug, decision, answer.value)}\n`);
  return EXIT.done;
}

function inWords(slug: string, decision: 'run' | 'skip', { until, count }: z.infer<typeof shape>): string {
  if (count === 0) return `${slug} owed nothing that was due by ${until}: what is due later counts anew`;
  const many = count === 1 ? '1 occurrence' : `${count} occurrences`;
  const became =
    decision === 'skip'
      ? `${many} skipped`
      : `${many} to be handed out to runners, the oldest first (rollcall owed ${slug} shows when)`;
  return `${slug}: ${became}; what is due after ${until} counts anew`;
}
