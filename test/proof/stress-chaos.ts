import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, Member } from './stress-fleet.ts';
import type { Held, SessionWatch } from './stress-watch.ts';

export type ChaosOptions = {
  readonly fleet: Fleet;
  readonly watch: SessionWatch;
  readonly random: () => number;
  /** Ends it. */
  readonly signal: AbortSignal;
};

/** At once: the others shall have something to do with each other. */
const MOST_STOPPED = 2;

const pick = <T>(list: readonly T[], random: () => number): T | undefined => list[Math.floor(random() * list.length)];

/** Pings shall have somewhere to go: the last web process that is up is left alone. */
function canGo(fleet: Fleet, member: Member): boolean {
  return member.role !== 'web' || fleet.of('web').some((other) => other !== member && other.state === 'up');
}

/** Every second or so a process is killed, or stopped for 12 to 70 s. */
export async function wreak({ fleet, watch, random, signal }: ChaosOptions): Promise<void> {
  const resumed = new Set<Promise<void>>();
  setMaxListeners(0, signal);
  while (!signal.aborted) {
    await sleep(500 + random() * 1000, null, { signal }).catch(() => undefined);
    const [dice, ms] = [random(), 12_000 + random() * 58_000];
    const candidates = fleet.members.filter((member) => member.state !== 'down' && canGo(fleet, member));
    const member = pick(candidates, random);
    if (signal.aborted || !member) continue;
    if (dice < 0.6 || member.state === 'stopped') {
      // A stopped one shall mostly come back to find the world changed.
      if (member.state === 'up' || dice < 0.1) fleet.kill(member);
    } else if (fleet.members.filter(({ state }) => state === 'stopped').length < MOST_STOPPED) {
      if (dice < 0.8) await stopInTransaction({ fleet, watch, random }, member);
      else fleet.stop(member);
      const { service } = member;
      const later = sleep(ms, null, { signal })
        .catch(() => undefined)
        .then(() => {
          if (member.service === service) fleet.resume(member);
        });
      resumed.add(later);
    }
  }
  await Promise.all(resumed);
}

const AIMS = 30;

/**
 * Stops a process in the middle of a transaction: stops it, looks whether a session waits for it, and else lets it go on a
 * bit. `state`: which kind of waiting is wanted; any by default. null: it never was in one, and is stopped all the same.
 */
export async function stopInTransaction(
  { fleet, watch, random }: Omit<ChaosOptions, 'signal'>,
  member: Member,
  state?: Held['state'],
): Promise<Held | null> {
  fleet.stop(member);
  for (let aim = 0; ; aim += 1) {
    await sleep(250);
    const held = await watch.heldByStopped().catch(() => null);
    if (held && (state === undefined || held.state === state)) return held;
    if (aim === AIMS || member.state !== 'stopped') return null;
    process.kill(member.service.pid, 'SIGCONT');
    await sleep(random() * 40);
    process.kill(member.service.pid, 'SIGSTOP');
  }
}
