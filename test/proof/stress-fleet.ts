import { type Service, startService } from './service.ts';

export type StressRole = 'web' | 'evaluator' | 'notifier';

/** A process of the service that dies and comes back under the same address. */
export type Member = {
  readonly name: string;
  readonly role: StressRole;
  readonly url: string;
  state: 'up' | 'stopped' | 'down';
  service: Service;
  /** Stretches in which it was up, on the clock of `performance.now()`; the open one ends at Infinity. */
  readonly lives: { from: number; until: number }[];
  /** What its earlier lives printed. */
  readonly logs: string[];
};

export type Fleet = {
  readonly members: readonly Member[];
  readonly of: (role: StressRole) => readonly Member[];
  readonly counts: { kills: number; stops: number };
  /** `kill -9`, up or stopped; it starts again by itself. */
  kill(member: Member): void;
  stop(member: Member): void;
  resume(member: Member): void;
  /** Resumes what is stopped, and waits until all are up. */
  restore(): Promise<void>;
  /** Ends them for good. */
  end(): Promise<void>;
};

/** Starts one process for each role named, all on one database. */
export async function startFleet(env: Readonly<Record<string, string>>, roles: readonly StressRole[]): Promise<Fleet> {
  const [first = 'web', ...others] = roles;
  // The first one migrates the database; together they would only wait for each other.
  const members = [await startMember(env, first, `${first}-0`)];
  members.push(...(await Promise.all(others.map((role, i) => startMember(env, role, `${role}-${i + 1}`)))));
  const counts = { kills: 0, stops: 0 };
  const restarts = new Set<Promise<void>>();
  const goDown = (member: Member, state: 'stopped' | 'down'): void => {
    const life = member.lives.at(-1);
    if (life && member.state === 'up') life.until = performance.now();
    member.state = state;
  };
  const goUp = (member: Member): void => {
    member.state = 'up';
    member.lives.push({ from: performance.now(), until: Number.POSITIVE_INFINITY });
  };
  const restart = async (member: Member): Promise<void> => {
    await member.service.kill();
    member.logs.push(printedBy(member.service));
    member.service = await startService({ ...env, PORT: new URL(member.url).port }, [member.role]);
    goUp(member);
  };
  const resume = (member: Member): void => {
    if (member.state !== 'stopped') return;
    process.kill(member.service.pid, 'SIGCONT');
    goUp(member);
  };
  return {
    members,
    of: (role) => members.filter((member) => member.role === role),
    counts,
    kill(member) {
      counts.kills += 1;
      goDown(member, 'down');
      restarts.add(restart(member));
    },
    stop(member) {
      counts.stops += 1;
      goDown(member, 'stopped');
      process.kill(member.service.pid, 'SIGSTOP');
    },
    resume,
    async restore() {
      for (const member of members) resume(member);
      await Promise.all(restarts);
    },
    async end() {
      await Promise.allSettled(restarts);
      for (const member of members) {
        await member.service.kill();
        member.logs.push(printedBy(member.service));
      }
    },
  };
}

const printedBy = ({ printed }: Service): string => printed.out + printed.err;

async function startMember(env: Readonly<Record<string, string>>, role: StressRole, name: string): Promise<Member> {
  const service = await startService(env, [role]);
  const lives = [{ from: performance.now(), until: Number.POSITIVE_INFINITY }];
  return { name, role, url: service.url, state: 'up', service, lives, logs: [] };
}
