import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, jobPath } from './remote.ts';

const shape = z.object({
  routing: z.array(z.object({ channel: z.string(), kind: z.string(), told: z.boolean(), reason: z.string() })),
});

/** `rollcall routing JOB KIND`: who would be told if such an incident opened now, and why. Nothing is sent. */
export async function routing(
  slug: string,
  kind: string,
  json: boolean,
  { ask, ...output }: CommandDeps,
): Promise<ExitCode> {
  const job = jobPath(slug);
  if (!job.ok) return giveUp(output, job, json);
  const answer = await ask({ path: `/routing?job=${slug}&kind=${encodeURIComponent(kind)}`, shape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(`${json ? JSON.stringify(answer.json) : asText(slug, kind, answer.value)}\n`);
  return EXIT.done;
}

function asText(slug: string, kind: string, { routing: lines }: z.infer<typeof shape>): string {
  if (lines.length === 0) return 'the project has no channels: nobody is told of anything';
  const told = lines.filter((line) => line.told).length;
  const width = Math.max(...lines.map(({ channel }) => channel.length));
  const head = `${kind} of ${slug} is told to ${told} of ${lines.length} channels:`;
  const rows = lines.map(
    ({ channel, told: isTold, reason }) => `${channel.padEnd(width)}  ${isTold ? 'yes' : 'no '}  ${reason}`,
  );
  return [head, '', ...rows].join('\n');
}
