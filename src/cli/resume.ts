import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, jobPath } from './remote.ts';

const shape = z.object({ paused: z.boolean(), next_due: z.object({ key: z.string() }).nullable() });

/** `rollcall resume JOB`: ends the pause. */
export async function resume(slug: string, json: boolean, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const job = jobPath(slug);
  if (!job.ok) return giveUp(output, job, json);
  const answer = await ask({ method: 'POST', path: `${job.path}/resume`, shape });
  if (!answer.ok) return giveUp(output, answer, json);
  const next = answer.value.next_due;
  const text = `${slug} is not paused; ${next === null ? 'nothing more is due' : `next due: ${next.key}`}`;
  output.out(`${json ? JSON.stringify(answer.json) : text}\n`);
  return EXIT.done;
}
