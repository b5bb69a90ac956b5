import { EXIT, type ExitCode } from './exit-codes.ts';
import { type RemoteIncident, toIncidents } from './incidents.ts';
import { type CommandDeps, giveUp } from './remote.ts';

/** `rollcall ack INCIDENT|JOB`: somebody knows of it; nobody is reminded any more. */
export async function ack(named: string, json: boolean, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const answer = await toIncidents(ask, named, { path: 'ack' });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : answer.value.map(inWords).join(''));
  return EXIT.done;
}

function inWords({ id, job, kind, state, acked_by }: RemoteIncident): string {
  const incident = `incident ${id} (${job} ${kind})`;
  if (acked_by === null) return `${incident} is ${state}: there is nothing to acknowledge\n`;
  return `${incident} is acknowledged by ${acked_by}: nobody is reminded of it; its end is told\n`;
}
