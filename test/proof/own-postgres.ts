import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/log.ts';
import { openCluster, SUPERUSER } from '../../src/store/postgres-cluster.ts';
import { findProgram } from '../../src/store/postgres-program.ts';
import { launchServer, type Server } from '../../src/store/postgres-server.ts';

/** A PostgreSQL server of the test's own, durable, which stops and starts when told; its URL stays. */
export type OwnPostgres = {
  readonly url: string;
  readonly pid: () => number;
  /** `fast`: transactions are broken off and sessions told; `immediate`: as after a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** Starts it where nobody knows it, for `work` alone; the server must be stopped. */
  aside(work: (url: string) => Promise<unknown>): Promise<void>;
  remove(): Promise<void>;
};

const SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '', timezone: 'UTC' };

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-own-postgres-'));
  // As root it runs as another user, who must get in.
  await chmod(dir, 0o755);
  const folder = join(dir, 'postgres');
  const program = await findProgram(folder);
  const password = await openCluster({ dir, folder, program, durable: false });
  const launch = { program, folder, settings: SETTINGS, log: createLog('silent') };
  const urlAt = (port: number): string => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
  let server: Server = await launchServer(launch);
  const { port } = server;
  return {
    url: urlAt(port),
    pid: () => server.pid,
    async stop(how) {
      process.kill(server.pid, how === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await server.exited;
    },
    async start() {
      server = await launchServer({ ...launch, port });
    },
    async aside(work) {
      const other = await launchServer(launch);
      await work(urlAt(other.port)).finally(() => other.stop());
    },
    async remove() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
