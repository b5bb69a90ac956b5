import type { Clock } from '../clock.ts';
import type { Instant } from '../core/time.ts';
import { OLDEST_AT_MS, type Ping, type Receipt } from './ping.ts';
import type { Server } from './server.ts';
import type { Addressee, Content, Letter, Spool } from './spool.ts';
import { isAlive, lockSpool, type SpoolLock } from './spool-lock.ts';

export type OutboxDeps = {
  /** null: the folder cannot be written, so what is not delivered at once is lost. */
  readonly spool: Spool | null;
  readonly to: Addressee;
  readonly server: Pick<Server, 'ping'>;
  readonly clock: Clock;
  /** This machine's clock: for `at=` and the names of files. */
  readonly now: () => Instant;
  readonly warn: (text: string) => void;
};

/** Which of the pings that others left are to be delivered, and how long that may take. */
type Round = {
  /** null: of every job. */
  readonly job: string | null;
  /** Also what was written for another key or another Rollcall: a person has said that it is for this one. */
  readonly adopt?: boolean;
  /** How long to wait for another process that delivers from this folder. */
  readonly patienceMs: number;
  readonly budgetMs: number;
  readonly stop: AbortSignal;
};

type Collected = {
  readonly delivered: number;
  readonly rejected: number;
  /** Of those meant, how many still wait; those in the hands of a living process too. null: nobody could look. */
  readonly left: number | null;
  /** Why something was left, where Rollcall is the reason. */
  readonly reason: string | null;
};

/**
 * Delivers pings: each is on disk before it is sent, and stays there until an answer proves that Rollcall has it. Nothing
 * throws: whatever happens here, the command has to run.
 */
export type Outbox = {
  /** Puts a ping of this process on disk. */
  post(ping: Ping): Promise<void>;
  /** Sends what this process has posted, in order. */
  deliverOwn(): Promise<Told>;
  /** Sends what earlier or dead processes left, oldest first. */
  collect(round: Round): Promise<Collected>;
  /**
   * A success of this job that lies here, whoever it was written for, and may be about this occurrence: its file, why it
   * lies here, and what to do. null: there is none.
   */
  untold(job: string, occurrence: { readonly key: string; readonly at: Instant }): Promise<string | null>;
  /** What waits under another key or another address than ours (job null: of every job), in words; null: nothing does. */
  elsewhere(job: string | null): Promise<string | null>;
  /** Puts back what was rejected (`adopt`: also what was written for another key or Rollcall); the others, in words. */
  restore(adopt: boolean): Promise<string | null>;
};

/** What Rollcall knows of what this process has posted. */
type Told =
  | { readonly kind: 'told' }
  /** Some of it was refused for good, which was said. */
  | { readonly kind: 'refused' }
  /** `isKept`: what is left is on disk; else only in the memory of this process. */
  | { readonly kind: 'waiting'; readonly isKept: boolean; readonly reason: string };

/** A letter of a living process so young is being sent by that process itself. */
const IN_HANDS_MS = 60_000;
/** A ping sent later than this after it happened says when that was. */
const FRESH_MS = 2000;

type Own = { readonly ping: Ping; letter: Letter | null; readonly postedMs: number; tried: boolean };

export function createOutbox(deps: OutboxDeps): Outbox {
  const { spool, to, server, clock, now, warn } = deps;
  const own: Own[] = [];
  let isRefused = false;

  const put = async (ping: Ping): Promise<Letter | null> => {
    try {
      return (await spool?.put(ping, to)) ?? null;
    } catch (error) {
      warn(
        `a ping cannot be kept in ${spool?.folder} (${(error as Error).message}): if Rollcall stays away it is lost`,
      );
      return null;
    }
  };

  /** What a receipt means for the file. true: the ping needs no more sending. */
  const settle = async (receipt: Receipt, ping: Ping, letter: Letter | null): Promise<boolean> => {
    if (receipt.kind === 'again') return false;
    if (receipt.kind === 'stored') {
      if (receipt.note !== null) warn(`${nameOf(ping)}: ${receipt.note}`);
      if (letter) await spool?.remove(letter);
      return true;
    }
    const where = letter ? `; it is kept in ${spool?.folder}/rejected` : '';
    warn(`${nameOf(ping)} was not taken: ${receipt.reason}${where}`);
    if (letter) await spool?.reject(letter, receipt.reason);
    return true;
  };

  const deliverOwn = async (): Promise<Told> => {
    for (let first = own[0]; first; first = own[0]) {
      const late = first.tried || clock.monotonic() - first.postedMs > FRESH_MS;
      first.tried = true;
      const receipt = await server.ping(first.ping, late);
      const isSettled = await settle(receipt, first.ping, first.letter).catch(orWarn(warn, true));
      if (receipt.kind === 'again' || !isSettled) return waitingFor(receipt);
      isRefused ||= receipt.kind === 'rejected';
      own.shift();
    }
    return { kind: isRefused ? 'refused' : 'told' };
  };

  const waitingFor = async (receipt: Receipt): Promise<Told> => {
    // A disk that was full may have room again.
    for (const each of own) each.letter ??= (await spool?.put(each.ping, to).catch(() => null)) ?? null;
    const reason = receipt.kind === 'again' ? receipt.reason : '';
    return { kind: 'waiting', isKept: own.every(({ letter }) => letter !== null), reason };
  };

  const isMeant = (letter: Letter, { job, adopt }: Pick<Round, 'job' | 'adopt'>): boolean =>
    (job === null || letter.job === job) &&
    (adopt || letter.account === to.account) &&
    !own.some((each) => each.letter?.name === letter.name);

  /** A living process is about to send it. */
  const isAnothers = (letter: Letter): boolean => letter.pid !== process.pid && isInHands(letter, now());

  const deliverOthers = async (letters: readonly Letter[], lock: SpoolLock, round: Round): Promise<Collected> => {
    const tally = { delivered: 0, rejected: 0, left: letters.length };
    const until = clock.monotonic() + round.budgetMs;
    let reason: string | null = null;
    for (const letter of letters) {
      if (round.stop.aborted || clock.monotonic() >= until) break;
      if (isAnothers(letter)) continue;
      await lock.touch();
      // One that cannot be read, another user's perhaps, must not keep back all that come after it.
      const content = await spool?.read(letter).catch(orWarn(warn, 'unread' as const));
      if (content === 'unread') continue;
      tally.left -= 1;
      if (!content) continue;
      const { ping } = content;
      const receipt = isTooOld(ping, now()) ? TOO_OLD : await server.ping(ping, true);
      await settle(receipt, ping, letter);
      if (receipt.kind === 'again') {
        tally.left += 1;
        reason = receipt.reason;
        // One that always fails must not keep back all that come after it.
        if (receipt.isAway) break;
      } else tally[receipt.kind === 'stored' ? 'delivered' : 'rejected'] += 1;
    }
    return { ...tally, reason };
  };

  const collect = async (round: Round): Promise<Collected> => {
    const meant = async () => ((await spool?.waiting()) ?? []).filter((letter) => isMeant(letter, round));
    if (!spool || (await meant()).length === 0) return NOTHING;
    const lock = await lockSpool(spool.folder, round.patienceMs);
    // Looked at again: while we waited, the other one has delivered.
    const letters = await meant();
    if (!lock) return { ...NOTHING, left: letters.length };
    try {
      return await deliverOthers(letters, lock, round);
    } finally {
      await lock.release();
    }
  };

  const untold: Outbox['untold'] = async (job, { key, at }) => {
    if (!spool) return null;
    const isAbout = (content: Content | null): boolean =>
      content?.ping.action === 0 && (content.ping.occ === key || (content.ping.occ === null && content.ping.at >= at));
    // Whatever key it is under: after a change of keys it is about the same work, and twice is worse than later.
    const all = { job, adopt: true };
    for (const letter of (await spool.waiting()).filter((each) => isMeant(each, all))) {
      const content = await spool.read(letter);
      if (!content || !isAbout(content)) continue;
      const file = `${spool.folder}/${letter.name}`;
      if (letter.account === to.account) return `${file} waits to be delivered: rollcall exec --flush`;
      return `${file} waits under another key or ROLLCALL_URL (${content.url}): ${HOW_TO_ADOPT}`;
    }
    for (const letter of (await spool.rejected()).filter((each) => isMeant(each, all))) {
      const content = await spool.readRejected(letter);
      if (!content || !isAbout(content)) continue;
      const adopt = letter.account === to.account ? '' : ' --adopt';
      const how = `when that is put right: rollcall exec --flush --all${adopt}`;
      return `${spool.folder}/rejected/${letter.name} was rejected: ${content.reason}; ${how}`;
    }
    return null;
  };

  const elsewhere: Outbox['elsewhere'] = async (job) => {
    const isOther = (letter: Letter): boolean =>
      letter.account !== to.account && isMeant(letter, { job, adopt: true }) && !isAnothers(letter);
    const letters = ((await spool?.waiting()) ?? []).filter(isOther);
    if (!spool || letters.length === 0) return null;
    const contents = await Promise.all(letters.map((letter) => spool.read(letter).catch(() => null)));
    const urls = new Set(contents.flatMap((content) => (content ? [content.url] : [])));
    const jobs = new Set(letters.map((letter) => letter.job));
    const which = `jobs: ${listed(jobs)}; written for ${listed(urls)}`;
    return `${letters.length} wait under another key or ROLLCALL_URL (${which}): ${HOW_TO_ADOPT}`;
  };

  const restore: Outbox['restore'] = async (adopt) => {
    const letters = (await spool?.rejected()) ?? [];
    const ours = letters.filter((letter) => isMeant(letter, { job: null, adopt }));
    await spool?.restore(ours);
    const others = letters.length - ours.length;
    return others === 0 ? null : `${others} were rejected under another key or ROLLCALL_URL: --adopt sends them too`;
  };

  // One at a time: an end must not overtake its start.
  let line: Promise<unknown> = Promise.resolve();
  const inLine = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = line.then(work);
    line = mine.catch(() => undefined);
    return mine;
  };

  return {
    post: async (ping) => {
      own.push({ ping, letter: await put(ping), postedMs: clock.monotonic(), tried: false });
    },
    deliverOwn: () => inLine(deliverOwn),
    collect: (round) => inLine(() => collect(round).catch(orWarn(warn, UNKNOWN))),
    untold: (job, occurrence) => untold(job, occurrence).catch(orWarn(warn, null)),
    elsewhere: (job) => elsewhere(job).catch(notKnown),
    restore: (adopt) => restore(adopt).catch(notKnown),
  };
}

const HOW_TO_ADOPT =
  'rollcall exec --flush with that key and address, or with --adopt if they are for the project of the present one';

/** A few, so that it stays a line. */
function listed(words: ReadonlySet<string>): string {
  const first = [...words].slice(0, 5).join(', ');
  return words.size > 5 ? `${first} and ${words.size - 5} more` : first;
}

const NOTHING: Collected = { delivered: 0, rejected: 0, left: 0, reason: null };
const UNKNOWN: Collected = { ...NOTHING, left: null };
const TOO_OLD: Receipt = {
  kind: 'rejected',
  reason: 'it is older than 30 days: Rollcall would take it for one of now',
};

function isTooOld({ at }: Ping, now: Instant): boolean {
  return now - at >= OLDEST_AT_MS;
}

function isInHands({ name, pid }: Letter, now: Instant): boolean {
  return Math.abs(now - Number(name.slice(0, 15))) < IN_HANDS_MS && isAlive(pid);
}

function nameOf({ job, action, at }: Ping): string {
  return `the ping ${job}/${action} of ${new Date(at).toISOString()}`;
}

/** Whoever asked whether something waits is told that nobody could look. */
const notKnown = (error: Error): string => `what waits in the spool is not known (${error.message})`;

/** A folder that cannot be read or written is no reason not to run the command. */
function orWarn<T>(warn: (text: string) => void, instead: T): (error: unknown) => T {
  return (error) => {
    warn(`the spool: ${(error as Error).message}`);
    return instead;
  };
}
