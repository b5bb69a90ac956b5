import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Instant } from '../core/time.ts';
import type { Ping } from './ping.ts';

/** A ping on disk. Its name says when it was put there, by which process, for which account and job. */
export type Letter = {
  readonly name: string;
  readonly pid: number;
  readonly account: string;
  readonly job: string;
};

/** Which Rollcall and which project of it a ping is for. */
export type Addressee = { readonly url: string; readonly account: string };

export type Content = { readonly ping: Ping; readonly url: string };

/**
 * Pings on disk, so that neither a crash nor an outage loses one. What `put` has answered is there after a power cut.
 * Any number of processes share a folder: names are unique, and files appear and go as a whole.
 */
export type Spool = {
  readonly folder: string;
  put(ping: Ping, to: Addressee): Promise<Letter>;
  /** What waits, oldest first. */
  waiting(): Promise<readonly Letter[]>;
  /** null: another process was quicker, or nobody can read it (then it is rejected). */
  read(letter: Letter): Promise<Content | null>;
  /** Once it is delivered. */
  remove(letter: Letter): Promise<void>;
  /** Out of the way, with the reason beside it. */
  reject(letter: Letter, reason: string): Promise<void>;
  /** What was rejected, oldest first. */
  rejected(): Promise<readonly Letter[]>;
  /** Of one that was rejected: what it says, and why. null: it is gone, or nobody can read it. */
  readRejected(letter: Letter): Promise<(Content & { readonly reason: string }) | null>;
  /** Puts back what was rejected. */
  restore(letters: readonly Letter[]): Promise<void>;
};

const NAME = /^(?<at>\d{15})-(?<pid>\d+)-[0-9a-f]{12}\.(?<account>[0-9a-f]{12})\.(?<job>[a-z0-9_-]{1,100})\.ping$/;
/** A file that is still being written is left alone for so long; then its writer is dead. */
const UNFINISHED = /\.new$|^delivering\.lock\./;
const UNFINISHED_MS = 3_600_000;
/** So many rejected ones are kept, the newest: a wrong key must not fill a disk. */
const MOST_REJECTED = 1000;

/** Opens (and makes) the folder; throws what the file system says when it cannot be written. */
export async function openSpool(folder: string, now: () => Instant): Promise<Spool> {
  const rejected = join(folder, 'rejected');
  await makeFolder(rejected);
  let last = 0;

  const put = async (ping: Ping, { url, account }: Addressee): Promise<Letter> => {
    // Ascending within a process even when the clock goes back: a start is delivered before its end.
    last = Math.max(last + 1, now());
    const stamp = String(last).padStart(15, '0');
    const name = `${stamp}-${process.pid}-${randomBytes(6).toString('hex')}.${account}.${ping.job}.ping`;
    const unfinished = join(folder, `${name}.new`);
    await writeDurably(unfinished, encode({ ping, url }));
    await rename(unfinished, join(folder, name));
    await syncFolder(folder);
    return { name, pid: process.pid, account, job: ping.job };
  };

  const waiting = async (): Promise<readonly Letter[]> => {
    const names = await readdir(folder);
    await sweep(folder, names, now());
    return lettersIn(names);
  };

  const reject = async ({ name }: Letter, reason: string): Promise<void> => {
    await writeFile(join(rejected, `${name}.reason`), `${reason}\n`, { mode: 0o600 });
    await rename(join(folder, name), join(rejected, name)).catch(unlessMissing);
    const kept = (await readdir(rejected)).filter((each) => readName(each) !== null).sort();
    for (const old of kept.slice(0, -MOST_REJECTED)) {
      await rm(join(rejected, old), { force: true });
      await rm(join(rejected, `${old}.reason`), { force: true });
    }
  };

  return {
    folder,
    put,
    waiting,
    reject,
    async read(letter) {
      const bytes = await readFile(join(folder, letter.name)).catch(unlessMissing);
      if (!bytes) return null;
      const content = decode(bytes);
      if (content === null) await reject(letter, 'this file cannot be read');
      return content;
    },
    async remove({ name }) {
      await rm(join(folder, name), { force: true });
    },
    rejected: async () => lettersIn(await readdir(rejected)),
    async readRejected({ name }) {
      const bytes = await readFile(join(rejected, name)).catch(unlessMissing);
      const content = bytes ? decode(bytes) : null;
      const reason = await readFile(join(rejected, `${name}.reason`), 'utf8').catch(unlessMissing);
      return content && { ...content, reason: reason?.trim() ?? 'no reason is known' };
    },
    async restore(letters) {
      for (const { name } of letters) {
        await rename(join(rejected, name), join(folder, name)).catch(unlessMissing);
        await rm(join(rejected, `${name}.reason`), { force: true });
      }
    },
  };
}

/** Not mkdir's own `recursive`: below /proc Node's never ends. */
async function makeFolder(path: string): Promise<void> {
  const make = (): Promise<void> => mkdir(path, { mode: 0o700 }).catch(unlessThere);
  await make().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await make();
  });
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function lettersIn(names: readonly string[]): readonly Letter[] {
  return [...names]
    .sort()
    .map(readName)
    .filter((letter) => letter !== null);
}

function readName(name: string): Letter | null {
  const groups = NAME.exec(name)?.groups;
  if (!groups) return null;
  const { pid = '', account = '', job = '' } = groups;
  return { name, pid: Number(pid), account, job };
}

/** A line of JSON, then the body as it came. */
function encode({ ping: { body, ...head }, url }: Content): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ url, ...head })}\n`), body ?? new Uint8Array()]);
}

function decode(bytes: Buffer<ArrayBuffer>): Content | null {
  const end = bytes.indexOf('\n');
  try {
    const { url, ...head } = JSON.parse(bytes.toString('utf8', 0, end)) as Omit<Ping, 'body'> & { url: string };
    if (typeof head.rid !== 'string' || typeof head.at !== 'number' || typeof head.job !== 'string') return null;
    const body = bytes.subarray(end + 1);
    return { url, ping: { ...head, body: body.length === 0 ? null : body } };
  } catch {
    return null;
  }
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What writers and lockers that died in the middle have left: pings that were never promised to anyone. */
async function sweep(folder: string, names: readonly string[], now: Instant): Promise<void> {
  for (const name of names.filter((each) => UNFINISHED.test(each))) {
    const path = join(folder, name);
    const found = await stat(path).catch(unlessMissing);
    if (found && now - found.mtimeMs > UNFINISHED_MS) await rm(path, { force: true });
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
