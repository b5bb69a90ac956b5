import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe of the operating system: whoever starts a process closes `writing` afterwards. */
export type Pipe = { readonly reading: Socket; readonly writing: number };

/**
 * Makes a pipe, or answers null where that is not possible. Node itself gives a process sockets instead, two for each
 * process, which a script cannot open as /dev/stdout and which do not break as pipes do.
 */
export function openPipe(): Pipe | null {
  let folder: string | null = null;
  try {
    folder = makeFolder();
    const path = join(folder, 'pipe');
    if (spawnSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' }).status !== 0) return null;
    // Reading first: opening the other end would wait for it. Both are open before anyone looks, so there is no early end.
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writing = openWriting(path, reading);
    return { reading: new Socket({ fd: reading, readable: true, writable: false }), writing };
  } catch {
    return null;
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

/** In TMPDIR, or where that is missing, where temporary files have always been. */
function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'rollcall-exec-'));
  } catch {
    return mkdtempSync('/tmp/rollcall-exec-');
  }
}

function openWriting(path: string, reading: number): number {
  try {
    return openSync(path, constants.O_WRONLY);
  } catch (error) {
    closeSync(reading);
    throw error;
  }
}
