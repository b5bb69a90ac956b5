import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** A folder in use by another live service. */
export type FolderTaken = { readonly kind: 'taken'; readonly pid: string };
export type FolderLock = { readonly kind: 'held'; release(): Promise<void> };

/** The longest path a socket may have (104 on macOS, 108 on Linux). */
const LONGEST_SOCKET_PATH = 100;

/**
 * Takes the folder for this process, or says which process has it. The lock is a listening socket in the folder: the
 * kernel closes it with its process, however that ends, so it is alive exactly as long as someone answers on it; no pid
 * is trusted, and it works between containers that share the folder.
 */
export async function lockFolder(folder: string): Promise<FolderLock | FolderTaken> {
  const path = join(folder, 'service.lock');
  const own = `${path}.${randomBytes(6).toString('hex')}`;
  const reach = socketPaths(folder);
  const server = await listen(reach.short(own));
  const inode = (await stat(own)).ino;
  try {
    const holder = await claim(own, path, reach.short);
    if (holder !== null) {
      server.close();
      return { kind: 'taken', pid: holder };
    }
  } catch (error) {
    server.close();
    throw error;
  } finally {
    await rm(own, { force: true });
    reach.close();
  }
  const release = async (): Promise<void> => {
    const current = await stat(path).catch(() => null);
    if (current?.ino === inode) await rm(path, { force: true });
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { kind: 'held', release };
}

/** Gives the listening socket its well-known name. Answers null, or the pid of the service that has the name. */
async function claim(own: string, path: string, short: (path: string) => string): Promise<string | null> {
  for (;;) {
    try {
      // A hard link fails when the name exists: of two that start at once, one gets it.
      await link(own, path);
      return null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = await ask(short(path));
    if (holder !== null) return holder;
    // Nobody answers: its process is dead. Moved aside first, because another start may have taken the name just now.
    const aside = `${own}.stale`;
    if (!(await rename(path, aside).then(isDone, isMissing))) continue;
    const revived = await ask(short(aside));
    if (revived !== null) await link(aside, path).catch(() => undefined);
    await rm(aside, { force: true });
    if (revived !== null) return revived;
  }
}

const isDone = (): boolean => true;

function isMissing(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'ENOENT') return false;
  throw error;
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(`${process.pid}\n`);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** The pid that answers on the socket ('?' when it takes the call but says nothing), or null when nobody is there. */
function ask(path: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let said = '';
    socket.setTimeout(2000, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    socket.once('close', (hadError) => {
      if (!hadError) resolve(said.trim() || '?');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(null);
      // Someone else's socket, or a busy one: it may be alive, so it is not ours to remove.
      else if (error.code === 'EACCES' || error.code === 'EPERM' || error.code === 'EAGAIN') resolve('?');
      else reject(error);
    });
  });
}

/** A socket deep in the file system has too long a name: it is then reached through an open handle of its folder. */
function socketPaths(folder: string): { short(path: string): string; close(): void } {
  const fits = join(folder, 'service.lock.123456789012.stale').length <= LONGEST_SOCKET_PATH;
  if (fits || process.platform !== 'linux') return { short: (path) => path, close: () => undefined };
  const handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    short: (path) => join(`/proc/self/fd/${handle}`, path.slice(folder.length)),
    close: () => closeSync(handle),
  };
}
