import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiKey, listKeys, revokeKey } from '../../../src/store/api-keys.ts';
import { createPingKeys, findProject, hashKey, type KeyScope } from '../../../src/store/keys.ts';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
const JOB = { schedules: [{ cron: '0 2 * * *' }], zone: 'UTC', missed_runs: 'skip' };

beforeAll(async () => {
  t = await startApi('2026-03-01T00:00:00Z');
  await t.call('PUT', '/jobs/nightly', JOB);
});
afterAll(() => t.drop());

async function keyWith(name: string, ...scopes: KeyScope[]) {
  const act = { projectId: t.projectId, actor: 'ada@example.org' };
  const key = await t.database.transaction((tx) => createApiKey(tx, act, { name, scopes }));
  const call = (method: string, path: string, body?: unknown) =>
    t.call(method, path, body, { Authorization: `Bearer ${key}` });
  return { key, call };
}

const listed = async (name: string) =>
  (await t.database.transaction((tx) => listKeys(tx, t.projectId))).find((each) => each.name === name);

describe('a key', () => {
  test('with read alone reads, and every change is 403 with the reason', async () => {
    const { call } = await keyWith('grafana', 'read');
    expect((await call('GET', '/jobs/nightly')).status).toBe(200);
    for (const [method, path, body] of [
      ['PUT', '/jobs/nightly', JOB],
      ['DELETE', '/jobs/nightly', undefined],
      ['POST', '/jobs/nightly/pause', undefined],
      ['POST', '/jobs/nightly/claims', { rid: 'a' }],
      ['PUT', '/channels/ops', { kind: 'ntfy' }],
      ['POST', '/clock/trust', undefined],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect([status, json.type], `${method} ${path}`).toEqual([403, '/problems/scope']);
      expect(json.detail).toContain('needs write');
    }
    expect((await t.call('GET', '/jobs/nightly')).json.status).not.toBe('paused');
  });

  test('with read alone is told no ping address: whoever has one pings', async () => {
    const { uuid } = (await t.call('GET', '/jobs/nightly')).json;
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    const { call } = await keyWith('dashboard', 'read');
    for (const path of ['/jobs', '/jobs/nightly', '/jobs/nightly/occurrences', '/jobs/nightly/pings', '/audit'])
      expect(JSON.stringify((await call('GET', path)).json), path).not.toContain(uuid);
    expect((await call('GET', '/jobs/nightly')).json).toMatchObject({ uuid: null, ping_url: null });
    for (const scopes of [['write'], ['read', 'ping']] as const) {
      const other = await keyWith('may ping', ...scopes);
      const [job] = (await other.call('GET', '/jobs')).json.jobs;
      expect(job).toMatchObject({ uuid, ping_url: `https://rollcall.example.org/ping/${uuid}` });
    }
  });

  test('with write changes and reads', async () => {
    const { call } = await keyWith('deploy', 'write');
    expect((await call('PUT', '/jobs/deployed', JOB)).status).toBe(201);
    expect((await call('GET', '/jobs/deployed')).status).toBe(200);
  });

  test('with ping alone pings by slug, and the API tells it nothing', async () => {
    const { key, call } = await keyWith('runner', 'ping');
    const { status, json } = await call('GET', '/jobs');
    expect([status, json.type]).toEqual([403, '/problems/scope']);
    expect((await t.app.request(`/ping/${key}/nightly`)).status).toBe(200);
    expect(await createPingKeys(t.database, () => 0)(hashKey(key))).toBe(true);
  });

  test('without ping does not ping', async () => {
    const { key } = await keyWith('no pings', 'read', 'write');
    expect((await t.app.request(`/ping/${key}/nightly`)).status).toBe(404);
    expect(await t.database.transaction((tx) => findProject(tx, 'ping', hashKey(key)))).toBeNull();
  });

  test('that is revoked is unknown from then on, also in ping URLs', async () => {
    const { key, call } = await keyWith('short-lived', 'read', 'ping');
    expect((await call('GET', '/jobs')).status).toBe(200);
    const { id = 0 } = (await listed('short-lived')) ?? {};
    const act = { projectId: t.projectId, actor: 'ada@example.org' };
    expect(await t.database.transaction((tx) => revokeKey(tx, act, id))).toBe(true);
    expect((await call('GET', '/jobs')).status).toBe(401);
    expect((await t.app.request(`/ping/${key}/nightly`)).status).toBe(404);
    expect(await t.database.transaction((tx) => revokeKey(tx, act, id))).toBe(false);
    expect(await listed('short-lived')).toBeUndefined();
  });

  test('of another project is not revoked by its number', async () => {
    await keyWith('theirs', 'read');
    const { id = 0 } = (await listed('theirs')) ?? {};
    const act = { projectId: t.projectId + 1, actor: 'eve@example.org' };
    expect(await t.database.transaction((tx) => revokeKey(tx, act, id))).toBe(false);
  });

  test('says when it was last used, written once a minute at most', async () => {
    const { call } = await keyWith('seldom', 'read');
    expect((await listed('seldom'))?.lastUsedAt).toBeNull();
    await t.at('2026-03-01T01:00:00Z');
    await call('GET', '/jobs');
    await t.at('2026-03-01T01:00:59Z');
    await call('GET', '/jobs');
    expect((await listed('seldom'))?.lastUsedAt).toBe(Date.parse('2026-03-01T01:00:00Z'));
    await t.at('2026-03-01T01:01:00Z');
    await call('GET', '/jobs');
    expect((await listed('seldom'))?.lastUsedAt).toBe(Date.parse('2026-03-01T01:01:00Z'));
  });

  test('is kept as a hash and four characters', async () => {
    const { key } = await keyWith('secret', 'read');
    const rows = await t.database.transaction((tx) => tx.sql`select * from keys where name = 'secret'`);
    expect(JSON.stringify(rows)).not.toContain(key);
    expect(rows[0]).toMatchObject({ hint: key.slice(0, 4), hash: hashKey(key), created_by: 'ada@example.org' });
  });

  test('has its name in the audit', async () => {
    const { key, call } = await keyWith('nightly deploy', 'write');
    await call('POST', '/jobs/nightly/pause');
    const { json } = await t.call('GET', '/audit?limit=1');
    expect(json.entries[0].text).toBe(`api key nightly deploy (${key.slice(0, 4)}…) paused job nightly`);
    await call('POST', '/jobs/nightly/resume');
  });

  test('without a name is in the audit as the list of keys shows it', async () => {
    await t.call('POST', '/jobs/nightly/pause');
    const { json } = await t.call('GET', '/audit?limit=1');
    const { hint } = (await listed('')) ?? {};
    expect([hint, json.entries[0].text]).toEqual(['test', 'api key test… paused job nightly']);
    await t.call('POST', '/jobs/nightly/resume');
  });
});
