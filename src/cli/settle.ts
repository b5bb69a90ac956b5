import { z } from 'zod';
import { parseKey } from '../core/key.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CommandDeps, giveUp, jobPath, refusedCall } from './remote.ts';

const STATES = ['skipped', 'on_time'] as const;
const shape = z.object({ key: z.string(), state: z.string() });

/** As typed. */
export type SettleOptions = { readonly note?: string; readonly json?: boolean };
type Settled = { readonly slug: string; readonly key: string; readonly state: string };

/** `rollcall settle JOB KEY skipped|on_time`: a person's word on one occurrence. */
export async function settle(
  { slug, key, state }: Settled,
  { note, json = false }: SettleOptions,
  { ask, ...output }: CommandDeps,
): Promise<ExitCode> {
  const job = jobPath(slug);
  if (!job.ok) return giveUp(output, job, json);
  const spelling = parseKey(key);
  if (!spelling.ok) return giveUp(output, refusedCall(spelling.reason), json);
  if (!STATES.some((known) => known === state)) {
    return giveUp(output, refusedCall(`${JSON.stringify(state)} is no decision: write ${STATES.join(' or ')}`), json);
  }
  const answer = await ask({
    method: 'PATCH',
    path: `${job.path}/occurrences/${encodeURIComponent(key)}`,
    body: { state, ...(note === undefined ? {} : { note }) },
    shape,
  });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : `${slug} ${answer.value.key} is ${answer.value.state}\n`);
  return EXIT.done;
}
