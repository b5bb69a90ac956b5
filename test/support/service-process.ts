import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

export type Service = {
  readonly child: ChildProcess;
  readonly said: { readonly url: string; readonly reused: boolean; readonly error?: string };
};

/** A service in a process of its own, so that it can be killed. */
export async function spawnService(folder: string, home: string, uid?: number): Promise<Service> {
  const script = join(inject('program'), 'test/support/embedded-service.js');
  const child = spawn(process.execPath, [script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: home },
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const words = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.once('exit', () => reject(new Error(`the service said only: ${said}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said);
    });
  });
  return { child, said: JSON.parse(words) as { url: string; reused: boolean; error?: string } };
}

export async function killed(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

export async function serverPid(folder: string): Promise<number> {
  return Number((await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** A dead process whose parent died before it may keep its number for a while: that is not alive. */
export async function isAlive(pid: number | undefined): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return state !== '' && !/\) [ZX] /.test(state);
}
