import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, jobPath } from './remote.ts';

const shape = z.object({ paused: z.boolean() });

/** `rollcall pause JOB`: what is due from now on is skipped, until somebody resumes the job. */
export async function pause(slug: string, json: boolean, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const job = jobPath(slug);
  if (!job.ok) return giveUp(output, job, json);
  const answer = await ask({ method: 'POST', path: `${job.path}/pause`, shape });
  if (!answer.ok) return giveUp(output, answer, json);
  const text = `${slug} is paused: what is due from now on is skipped, and nobody is called. To go on: rollcall resume ${slug}`;
  output.out(`${json ? JSON.stringify(answer.json) : text}\n`);
  return EXIT.done;
}
