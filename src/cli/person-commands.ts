import type { Command } from 'commander';
import { loadZones } from '../zones.ts';
import { backlog } from './backlog.ts';
import type { ExitCode, Output } from './exit-codes.ts';
import { owed } from './owed.ts';
import { pause } from './pause.ts';
import { type CommandDeps, withRemote } from './remote.ts';
import { resume } from './resume.ts';
import { type SettleOptions, settle } from './settle.ts';
import { trustClock } from './trust-clock.ts';

type JsonOption = { readonly json?: boolean };

export type PersonDeps = Output & {
  readonly env: NodeJS.ProcessEnv;
  /** Told how a command ended. */
  readonly finish: (code: ExitCode) => void;
};

/** Registers what a person can do to a running Rollcall, which ROLLCALL_URL names. */
export function addPersonCommands(program: Command, { env, finish, ...output }: PersonDeps): void {
  const run = (command: (deps: CommandDeps) => Promise<ExitCode>): Promise<ExitCode> =>
    withRemote(env, output, command);
  const asJson = ['--json', 'print what the API answers'] as const;
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(`${description}; needs ROLLCALL_URL and ROLLCALL_API_KEY`)
      .argument('<job>', 'slug of the job')
      .option(...asJson);
  command('owed', 'show what a job still has to run, and what to do about it').action(
    async (job: string, { json = false }: JsonOption) =>
      finish(await run((deps) => owed(job, json, { ...deps, zones: loadZones() }))),
  );
  command('backlog', 'say run or skip about everything that a job owes now')
    .argument('<decision>', 'run or skip')
    .action(async (job: string, decision: string, { json = false }: JsonOption) =>
      finish(await run((deps) => backlog(job, decision, json, deps))),
    );
  command('pause', 'pause a job: what is due from now on is skipped').action(
    async (job: string, { json = false }: JsonOption) => finish(await run((deps) => pause(job, json, deps))),
  );
  command('resume', 'end the pause of a job').action(async (job: string, { json = false }: JsonOption) =>
    finish(await run((deps) => resume(job, json, deps))),
  );
  command('settle', 'say of one occurrence that it is skipped, or was on time')
    .argument('<key>', 'its key, such as 2026-10-25T02:30+02:00, or another spelling of it')
    .argument('<state>', 'skipped or on_time')
    .option('--note <text>', 'why; kept with the occurrence')
    .action(async (slug: string, key: string, state: string, options: SettleOptions) =>
      finish(await run((deps) => settle({ slug, key, state }, options, deps))),
    );
  program
    .command('trust-clock')
    .description(
      "say that the database's clock is right, although /healthz doubts it; needs ROLLCALL_URL and ROLLCALL_API_KEY",
    )
    .option(...asJson)
    .action(async ({ json = false }: JsonOption) => finish(await run((deps) => trustClock(json, deps))));
}
