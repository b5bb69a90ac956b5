import { z } from 'zod';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp } from './remote.ts';

const shape = z.object({ now: z.string(), heard_until: z.string().nullable() });

/** `rollcall trust-clock`: the clock of the database is right, although Rollcall does not believe it. */
export async function trustClock(json: boolean, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const answer = await ask({ method: 'POST', path: '/clock/trust', shape });
  if (!answer.ok) return giveUp(output, answer, json);
  const { now, heard_until: heardUntil } = answer.value;
  const text =
    heardUntil === null
      ? `the clock says ${now} and is believed already: nothing has changed`
      : `the clock says ${now} and is believed from now on; what was due since ${heardUntil} is unknown unless it is still reported`;
  output.out(`${json ? JSON.stringify(answer.json) : text}\n`);
  return EXIT.done;
}
