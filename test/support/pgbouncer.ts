import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A PgBouncer in transaction mode, with two connections to the server. */
export type PgBouncer = {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  close(): Promise<void>;
};

const env = { PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };
/** It refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const PROGRAM = 'pgbouncer';
export const hasPgBouncer = spawnSync(PROGRAM, ['--version'], { env }).status === 0;

export async function preparePgBouncer(target: string): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(target);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-pgbouncer-'));
  await chmod(folder, 0o755);
  const ownPort = await freePort();
  await writeFile(join(folder, 'pgbouncer.ini'), settings(`host=${hostname} port=${port}`, ownPort, folder));
  await writeFile(join(folder, 'users.txt'), `"${username}" "${password}"\n`);
  const url = new URL(target);
  url.port = String(ownPort);
  let child: ChildProcess | null = null;
  const kill = async (): Promise<void> => {
    if (!child) return;
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    child = null;
  };
  return {
    url: url.href,
    async start() {
      child = spawn(PROGRAM, ['-q', join(folder, 'pgbouncer.ini')], { ...user, env, stdio: 'ignore' });
      while (!(await answers(ownPort))) {
        if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
      }
    },
    kill,
    async close() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const settings = (target: string, port: number, folder: string): string => `[databases]
* = ${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = 2
`;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
