import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { connect, type Database, type Tx } from '../../src/store/database.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../src/store/embedded.ts';
import { notCommitted, pidOf, until } from '../support/kept-words.ts';
import { startProxy } from '../support/proxy.ts';

const OPENSSL = 'openssl';
const hasOpenssl = spawnSync(OPENSSL, ['version']).status === 0;
if (!hasOpenssl) console.warn('did not run: the tests over TLS, because openssl is not on PATH');

// postgres.js replaces its socket by another one under TLS, and then some errors end the process: each of these did.
describe.runIf(hasOpenssl)('over TLS', () => {
  let base = '';
  let server: EmbeddedPostgres;
  let plain: Database;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'rollcall-tls-'));
    await chmod(base, 0o755);
    server = await startEmbedded(join(base, 'data'), createLog('silent'), { durable: false });
    await makeCertificate(join(base, 'data', 'postgres'));
    await turnOn(server.url);
    plain = connect(server.url);
  });
  afterAll(async () => {
    await plain.close();
    await server.stop();
    await rm(base, { recursive: true, force: true });
  });

  const open = (url = server.url) => connect(`${url}?sslmode=require`, { max: 2 });
  const isSecure = (tx: Tx) => tx.sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;

  test('a transaction that the server ended, or that missed its deadline, ends alone', async () => {
    const database = open();
    expect(await database.transaction(isSecure)).toEqual([{ ssl: true }]);
    const ended = database.transaction(async (tx) => {
      const pid = await pidOf(tx);
      await plain.transaction((other) => other.sql`select pg_terminate_backend(${pid}, 5000)`);
      await tx.sql`select 1`;
    });
    await expect(ended).rejects.toEqual(notCommitted);
    const late = database.transaction((tx) => tx.sql`select pg_sleep(60)`, { deadlineMs: 100 });
    await expect(late).rejects.toEqual(notCommitted);
    expect(await database.transaction(isSecure)).toEqual([{ ssl: true }]);
    await database.close();
  });

  test('a network that fell silent is given up, idle connections and all', async () => {
    const proxy = await startProxy(server.url);
    const database = open(proxy.url);
    await Promise.all([1, 2].map(() => database.transaction((tx) => tx.sql`select pg_sleep(0.01)`)));
    proxy.goSilent();
    await expect(database.transaction(isSecure, { deadlineMs: 100 })).rejects.toEqual(notCommitted);
    expect(await database.transaction(isSecure)).toEqual([{ ssl: true }]);
    await database.close();
    await proxy.close();
  });

  test('a certificate that cannot be verified is refused where that was asked for', async () => {
    const database = connect(`${server.url}?sslmode=verify-full`, { max: 1 });
    await expect(database.transaction(isSecure)).rejects.toThrow('self-signed certificate');
    await database.close();
  });
});

async function makeCertificate(folder: string): Promise<void> {
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes'];
  execFileSync(OPENSSL, ['req', '-new', '-x509', ...subject, '-out', certificate, '-keyout', key], {
    stdio: 'ignore',
  });
  const { uid, gid } = await stat(folder);
  await chmod(key, 0o600);
  for (const path of [certificate, key]) await chown(path, uid, gid);
}

/** Waits until a new connection sees it: the server reads its settings again in its own time. */
async function turnOn(url: string): Promise<void> {
  const admin = postgres(url, { max: 1 });
  await admin`alter system set ssl = on`;
  await admin`select pg_reload_conf()`;
  await until(async () => (await admin`show ssl`)[0]?.['ssl'] === 'on');
  await admin.end();
}
