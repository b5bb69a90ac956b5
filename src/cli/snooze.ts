import { EXIT, type ExitCode } from './exit-codes.ts';
import { type RemoteIncident, toIncidents } from './incidents.ts';
import { type CommandDeps, giveUp } from './remote.ts';

/** `rollcall snooze INCIDENT|JOB 4h|INSTANT|off`: nothing of it goes out until then. */
export async function snooze(
  named: string,
  until: string,
  json: boolean,
  { ask, ...output }: CommandDeps,
): Promise<ExitCode> {
  const body = { until: until === 'off' ? null : until };
  const answer = await toIncidents(ask, named, { path: 'snooze', body });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : answer.value.map(inWords).join(''));
  return EXIT.done;
}

function inWords({ id, job, kind, state, snoozed_until: until }: RemoteIncident): string {
  const incident = `incident ${id} (${job} ${kind})`;
  if (state !== 'open') return `${incident} is ${state}: there is nothing to snooze\n`;
  if (until === null) return `${incident} is not snoozed: its messages go out\n`;
  return `${incident} is snoozed until ${until}; if it is still open then, one message says so\n`;
}
