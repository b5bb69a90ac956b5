import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './stress-fleet.ts';
import { HAMMERED, type Report, type StressJob } from './stress-jobs.ts';

/** One try to get a ping through. Status 0: the connection broke, or nothing came in time. */
export type Attempt = {
  readonly member: Member;
  /** On the clock of `performance.now()`. */
  readonly from: number;
  readonly until: number;
  /** On the wall clock. */
  readonly answeredAt: number;
  readonly status: number;
  readonly match: string;
  readonly key: string;
};

/** One ping and all its tries; `acknowledged` is the last of them, null: given up. */
export type Sent = {
  readonly slug: string;
  readonly kind: 'start' | 'success' | 'fail';
  readonly rid: string;
  readonly attempts: readonly Attempt[];
  readonly acknowledged: Attempt | null;
};

/** `curl --retry`: how long one try may take, and how often it tries. */
type Patience = { readonly tryMs: number; readonly tries: number; readonly pauseMs: number };

const RUNNER: Patience = { tryMs: 2500, tries: 60, pauseMs: 200 };
const HAMMER: Patience = { tryMs: 10_000, tries: 30, pauseMs: 100 };

export type Clients = {
  readonly sent: readonly Sent[];
  /** Sends nothing new, and waits for what is under way. */
  stop(): Promise<void>;
};

export type ClientsOptions = {
  readonly webs: readonly Member[];
  readonly pingKey: string;
  readonly jobs: readonly StressJob[];
  /** Connections to each web process that ping as fast as answers come, after a pause. */
  readonly hammers: number;
  /** Between two pings of a hammer, in milliseconds. */
  readonly pauseMs: number;
  readonly random: () => number;
};

/** A runner for each job, and hammers at each web process; all of them try again at the next one, with the same run id. */
export function startClients({ webs, pingKey, jobs, hammers, pauseMs, random }: ClientsOptions): Clients {
  const sent: Sent[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  setMaxListeners(0, signal);
  const send = async (slug: string, what: Pick<Sent, 'kind' | 'rid'> & Route): Promise<Sent> => {
    const done = await sendOne(`/ping/${pingKey}/${slug}`, { slug, webs, ...what });
    sent.push(done);
    return done;
  };
  const runs = new Set<Promise<unknown>>();
  const run = async (job: StressJob, due: number): Promise<void> => {
    const first = Math.floor(random() * webs.length);
    const rid = randomUUID();
    for (const { kind, query } of pingsOf(job.reports(due / job.every), due)) {
      await send(job.slug, { kind, rid, query, first, patience: RUNNER, agent: null });
    }
  };
  const runner = async (job: StressJob): Promise<void> => {
    for (let due = nextDue(job.every); !signal.aborted; due = nextDue(job.every)) {
      await sleep(due * 1000 - Date.now() + random() * 300, null, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // Not awaited: a run that has trouble with its pings does not hold up the next one.
      const running = run(job, due).finally(() => runs.delete(running));
      runs.add(running);
    }
  };
  /** Without a slug of its own it goes through them all, and waits where a stopped process holds a job. */
  const hammer = async (first: number, own?: string): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = Math.floor(random() * HAMMERED.length); !signal.aborted; i += 1) {
      const slug = own ?? HAMMERED[i % HAMMERED.length] ?? '';
      const query = 'create=1';
      await send(slug, { kind: 'success', rid: randomUUID(), query, first, patience: HAMMER, agent });
      if (pauseMs > 0) await sleep(pauseMs, null, { signal }).catch(() => undefined);
    }
    agent.destroy();
  };
  const loops = [
    ...jobs.map(runner),
    ...webs.flatMap(({ name }, first) =>
      Array.from({ length: hammers }, (_, i) => hammer(first, i === 0 ? `probe-${name}` : undefined)),
    ),
  ];
  return {
    sent,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
      await Promise.all(runs);
    },
  };
}

/** Whole seconds, on the wall clock; never the instant that is just being served. */
function nextDue(every: number): number {
  return (Math.floor(Date.now() / 1000 / every) + 1) * every;
}

function pingsOf(report: Report, due: number): readonly { readonly kind: Sent['kind']; readonly query: string }[] {
  const query = `occ=${due}`;
  if (report === 'nothing') return [];
  if (report === 'keyed') return [{ kind: 'success', query }];
  if (report === 'start and success') {
    return [
      { kind: 'start', query },
      { kind: 'success', query },
    ];
  }
  return [{ kind: report, query: '' }];
}

type Route = {
  readonly query: string;
  /** Which web process is asked first. */
  readonly first: number;
  readonly patience: Patience;
  readonly agent: Agent | null;
};

/** Sends one ping until it is acknowledged or refused, or patience ends. */
export async function sendOne(
  path: string,
  {
    slug,
    kind,
    rid,
    query,
    webs,
    first,
    patience,
    agent,
  }: Route & Omit<Sent, 'attempts' | 'acknowledged'> & Pick<ClientsOptions, 'webs'>,
): Promise<Sent> {
  const attempts: Attempt[] = [];
  const url = `${path}${kind === 'success' ? '' : `/${kind}`}?rid=${rid}${query && `&${query}`}`;
  for (let i = 0; i < patience.tries; i += 1) {
    const member = webs[(first + i) % webs.length];
    if (!member) break;
    const attempt = await tryOnce(member, url, { agent, tryMs: patience.tryMs });
    attempts.push(attempt);
    // Anything that was no word of a Rollcall at work is tried again.
    if (attempt.status !== 0 && attempt.status !== 503) break;
    await sleep(patience.pauseMs);
  }
  const last = attempts.at(-1) ?? null;
  const acknowledged = last?.status === 200 || last?.status === 201 ? last : null;
  return { slug, kind, rid, attempts, acknowledged };
}

function tryOnce(
  member: Member,
  path: string,
  { agent, tryMs }: { readonly agent: Agent | null; readonly tryMs: number },
): Promise<Attempt> {
  const from = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, match = '', key = ''): void =>
      resolve({ member, from, until: performance.now(), answeredAt: Date.now(), status, match, key });
    const asked = request(`${member.url}${path}`, { agent: agent ?? false }, (response) => {
      response.resume();
      response.on('error', () => end(0));
      response.on('end', () => {
        const { 'rollcall-match': match, 'rollcall-occurrence': key } = response.headers;
        end(response.statusCode ?? 0, String(match ?? ''), String(key ?? ''));
      });
    });
    const timer = setTimeout(() => asked.destroy(new Error('too late')), tryMs);
    asked.on('error', () => end(0));
    asked.on('close', () => clearTimeout(timer));
    asked.end();
  });
}
