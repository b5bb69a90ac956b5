import type { Command } from 'commander';
import { loadZones } from '../zones.ts';
import { ack } from './ack.ts';
import { backlog } from './backlog.ts';
import type { ExitCode, Output } from './exit-codes.ts';
import { type MaintenanceOptions, maintenance } from './maintenance.ts';
import { owed } from './owed.ts';
import { pause } from './pause.ts';
import { type CommandDeps, withRemote } from './remote.ts';
import { type ReportOptions, report } from './report.ts';
import { resume } from './resume.ts';
import { routing } from './routing.ts';
import { type SettleOptions, settle } from './settle.ts';
import { snooze } from './snooze.ts';
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
  command('routing', 'show which channels would be told of a kind of incident, and why; sends nothing')
    .argument('<kind>', 'missing, late, failed, ... or unknown')
    .action(async (job: string, kind: string, { json = false }: JsonOption) =>
      finish(await run((deps) => routing(job, kind, json, deps))),
    );
  const aboutIncident = (name: string, description: string): Command =>
    program
      .command(name)
      .description(`${description}; needs ROLLCALL_URL and ROLLCALL_API_KEY`)
      .argument('<incident>', 'its id, or the slug of a job: all that is open of it')
      .option(...asJson);
  aboutIncident('ack', 'say that an incident is known: nobody is reminded of it any more').action(
    async (named: string, { json = false }: JsonOption) => finish(await run((deps) => ack(named, json, deps))),
  );
  aboutIncident('snooze', 'let nothing of an incident go out for a while')
    .argument('<until>', '4h, 2d, an instant such as 2026-03-02T09:00:00+01:00, or off')
    .action(async (named: string, until: string, { json = false }: JsonOption) =>
      finish(await run((deps) => snooze(named, until, json, deps))),
    );
  program
    .command('maintenance')
    .description(
      'list maintenance windows and calendars, show one, begin one, or end it; needs ROLLCALL_URL and ROLLCALL_API_KEY',
    )
    .argument('[slug]', 'slug of the window; without it they are listed')
    .option('--for <duration>', 'begin it now, or at --from, for so long: 2h')
    .option('--from <instant>', 'when it begins, such as 2026-03-02T22:00:00+01:00; it may be past (default: now)')
    .option('--until <instant>', 'when it ends, instead of --for')
    .option('--ics <file or url>', 'a calendar: its events are the window; with --zone')
    .option('--zone <zone>', 'the time zone of a calendar, such as Europe/Berlin')
    .option('--jobs <slugs>', 'only these jobs, separated by commas')
    .option('--tags <tags>', 'only, or also, jobs with one of these tags')
    .option('--name <text>', 'what people call it')
    .option('--reason <text>', 'why; kept with what is skipped')
    .option('--end', 'end it from now on')
    .option(...asJson)
    .action(async (slug: string | undefined, options: MaintenanceOptions) =>
      finish(await run((deps) => maintenance(slug, options, deps))),
    );
  program
    .command('report')
    .description('show a weekly or monthly report, and send nothing; needs ROLLCALL_URL and ROLLCALL_API_KEY')
    .argument('<report>', 'slug of the report')
    .option(
      '--period <period>',
      'a week such as 2026-W53 or a month such as 2026-10 (default: the newest that is over)',
    )
    .option(...asJson)
    .action(async (slug: string, options: ReportOptions) =>
      finish(await run((deps) => report(slug, options, { ...deps, zones: loadZones() }))),
    );
  program
    .command('trust-clock')
    .description(
      "say that the database's clock is right, although /healthz doubts it; needs ROLLCALL_URL and ROLLCALL_API_KEY",
    )
    .option(...asJson)
    .action(async ({ json = false }: JsonOption) => finish(await run((deps) => trustClock(json, deps))));
}
