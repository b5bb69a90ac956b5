import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHost, type Host, nextTick } from './host.ts';
import { definitionOf, GRACE_MS, JOBS, PERIOD_MS } from './jobs.ts';
import { asTable, type Ledger, readLedgers } from './ledger.ts';
import { eventually, until } from './pace.ts';
import { installRollcall, type Rollcall } from './rollcall.ts';
import { type Circumstance, complaints } from './verdict.ts';

/**
 * `npm run demo:outage`: three real jobs, one of each missed-run policy, and two outages: of their host, and of Rollcall
 * too. Ends with 0 only if every occurrence has the end that its policy says.
 */

/** A silence of more than 30 s is one that Rollcall does not trust. */
const AWAY_MS = 32_000;
/** The default `early` of a period of 10 s. */
const EARLY_MS = PERIOD_MS / 10;

type Stage = {
  readonly rollcall: Rollcall;
  readonly host: Host;
  readonly folder: string;
  readonly signal: AbortSignal;
};
/** Rollcall was away from `from` to `to`. */
type Away = { readonly from: number; readonly to: number };

async function perform(stage: Stage): Promise<boolean> {
  await setUp(stage);
  await ordinaryLife(stage);
  await hostDown(stage);
  return judge(stage, await bothDown(stage));
}

async function setUp({ rollcall, host, signal }: Stage): Promise<void> {
  heading('Three jobs, due every 10 seconds, and three answers to: what about a run that nobody ran?');
  // Not at the very end of a period: the jobs must be known before they are due.
  if (nextTick(Date.now()) - Date.now() < 3000) await until(nextTick(Date.now()) + 100, signal);
  for (const job of JOBS) {
    await rollcall.api('PUT', `/jobs/${job.slug}`, definitionOf(job));
    say(`${job.slug.padEnd(7)}  ${job.policy.padEnd(8)}  ${job.why}`);
  }
  host.boot();
}

async function ordinaryLife(stage: Stage): Promise<void> {
  heading('1. An ordinary time');
  const last = await stage.host.quiet(2);
  await show(stage, last - PERIOD_MS);
}

async function hostDown(stage: Stage): Promise<void> {
  const { host, signal } = stage;
  heading('2. The host of the jobs goes down for three periods. Rollcall is up, and knows what should have happened');
  const first = nextTick(Date.now());
  host.crash();
  await until(first + 2 * PERIOD_MS + GRACE_MS + 1000, signal);
  say('before the host is back:');
  await show(stage, first);
  say('billing owes three runs, cleanup one, digest none (its last one may still run until the next is due).');
  say('the host is back; every job asks Rollcall what to run (rollcall exec):');
  host.boot();
  await host.quiet(1);
  say('after:');
  await show(stage, first);
  say('billing paid its debts, the oldest first; one cleanup covered all; the old digests stay missed.');
  say(`cleanup.txt: ${await firstLineSince(first, join(stage.folder, 'cleanup.txt'))}`);
}

async function bothDown(stage: Stage): Promise<Away> {
  const { rollcall, host, signal } = stage;
  heading('3. Now Rollcall goes down too (kill -9), for more than 30 seconds');
  const first = nextTick(Date.now());
  host.crash();
  const from = Date.now();
  await rollcall.kill();
  await until(from + AWAY_MS, signal);
  say('power is back: Rollcall starts, then cron. Nobody knows what ran in that time.');
  await rollcall.start(signal);
  const to = Date.now();
  host.boot();
  await eventually('what nobody reported is unknown', signal, () => isSettled(stage, { from, to }));
  await host.quiet(0);
  say('before a person has said anything:');
  await show(stage, first);
  say(
    'a cleanup covered those before it. What became of the others Rollcall does not know: it does not guess, and opens',
  );
  say('no incident about its own blindness. billing might run twice, so it waits until a person has looked, and says:');
  await decide(stage);
  await host.quiet(1);
  say('after:');
  await show(stage, first);
  return { from, to };
}

/** The command itself, as a person would type it. */
async function decide({ rollcall }: Stage): Promise<void> {
  console.log('\n    $ rollcall backlog billing run');
  const command = rollcall.command(['backlog', 'billing', 'run']);
  for (const stream of [command.stdout, command.stderr]) {
    stream?.on('data', (chunk: Buffer) => process.stdout.write(`    ${chunk}`));
  }
  const code = await new Promise((resolve) => command.once('close', resolve));
  console.log();
  if (code !== 0) throw new Error(`rollcall backlog ended with ${code}`);
}

/** What a job wrote first about what was due at this instant or later. */
async function firstLineSince(due: number, file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.find((line) => Date.parse(line.split(' ')[0] ?? '') >= due) ?? 'nothing';
}

async function isSettled({ rollcall, folder }: Stage, { from, to }: Away): Promise<boolean> {
  const ledgers = await readLedgers(rollcall, folder);
  return ledgers.every(({ entries }) =>
    entries.every(({ due, state }) => due < from || due > to || state !== 'expected'),
  );
}

async function judge({ rollcall, folder, host }: Stage, { from, to }: Away): Promise<boolean> {
  const ledgers = await readLedgers(rollcall, folder);
  const circumstanceOf = (due: number): Circumstance => {
    if (host.started.has(due)) return 'started';
    return due + GRACE_MS > from && due - EARLY_MS < to ? 'rollcall_away' : 'host_down';
  };
  const flaws = complaints(ledgers, circumstanceOf);
  const count = ledgers.reduce((sum, { entries }) => sum + entries.length, 0);
  heading(
    flaws.length === 0
      ? `All ${count} occurrences have the end that their policy says, and the files of the jobs agree.`
      : `${flaws.length} of ${count} occurrences do not have the end that their policy says:`,
  );
  for (const flaw of flaws) console.log(`    ${flaw}`);
  if (flaws.length > 0) await showLogs(folder);
  return flaws.length === 0;
}

async function show({ rollcall, folder }: Stage, from: number): Promise<void> {
  const ledgers: readonly Ledger[] = await readLedgers(rollcall, folder);
  console.log(`\n${asTable(ledgers, from)}\n`);
}

async function showLogs(folder: string): Promise<void> {
  for (const name of ['jobs.log', 'rollcall.log']) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    const lines = text.trimEnd().split('\n').slice(-20);
    console.error(`\nThe end of ${name}:\n${lines.map((line) => line.slice(0, 300)).join('\n')}`);
  }
}

const heading = (text: string): void => console.log(`\n${text}\n`);
const say = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)}  ${text}`);

async function main(signal: AbortSignal): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-demo-'));
  // As root the database runs as another user, who must get in.
  await chmod(folder, 0o755);
  const rollcall = await installRollcall(folder);
  const hostSignal = new AbortController();
  try {
    say(`Rollcall starts in ${folder}; this takes two minutes.`);
    await rollcall.start(signal);
    const host = await createHost({
      rollcall,
      folder,
      signal: AbortSignal.any([signal, hostSignal.signal]),
      tell: say,
    });
    return (await perform({ rollcall, host, folder, signal })) ? 0 : 1;
  } catch (error) {
    if (signal.aborted) return 130;
    console.error(`\nThe demo broke: ${(error as Error).message}`);
    await showLogs(folder);
    return 1;
  } finally {
    hostSignal.abort();
    await rollcall.stop();
    await rm(folder, { recursive: true, force: true });
    say('everything is stopped and removed');
  }
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort());
process.exitCode = await main(stop.signal);
