import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../src/store/database.ts';
import { createProbes } from '../../src/web/app.ts';
import type { Health } from '../../src/web/health.ts';
import { homePage } from '../../src/web/home.tsx';
import { createMetrics } from '../../src/web/metrics.ts';
import { loadAssets } from '../../src/web/pages/assets.ts';
import type { Viewer } from '../../src/web/pages/viewer.ts';
import { testApp, WELL } from './harness.ts';

const assets = loadAssets();
const person = (projects: Viewer['projects']): Viewer => ({
  userId: 'ada',
  name: 'Ada',
  email: 'ada@example.org',
  zone: null,
  projects,
});
const nightly = { id: 1, slug: 'nightly', name: 'Nightly', role: 'viewer' } as const;

function homeFor(viewer: Viewer | null, status: Health['status'] = 'ok', isFirst = false) {
  const readHealth = async (): Promise<Health> => ({ status, tz_version: '2026a', checks: [] });
  const home = homePage({ assets, readViewer: async () => viewer, readHealth, isNobodyHere: async () => isFirst });
  return testApp({ deps: { pages: [home] } }).app.request('/');
}

test('the page at / says what this is and how it is, without inline script and under a strict policy', async () => {
  const response = await homeFor(null, 'failing');
  const page = await response.text();
  expect(response.status).toBe(200);
  expect(page).toMatch(/^<!doctype html><html/i);
  expect(page).toContain('not well');
  expect(page).toContain('href="/sign-in"');
  expect(page).toContain('href="/health"');
  const policy = response.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe-inline');
  expect(page).not.toMatch(/<style|<script[^>]*>[^<]| style=/);
  expect(await (await homeFor(null)).text()).toContain('Rollcall itself is well.');
});

test('before anybody has an account / says how the first person gets in', async () => {
  expect(await (await homeFor(null, 'ok', true)).text()).toContain('Nobody has an account yet');
  expect(await (await homeFor(null, 'ok', false)).text()).not.toContain('Nobody has an account yet');
});

test('whoever is signed in goes from / to the jobs of their project, or to the list of several', async () => {
  const locations = [[nightly], [nightly, { ...nightly, slug: 'other' }], []].map(async (projects) => {
    const response = await homeFor(person(projects));
    return [response.status, response.headers.get('location')];
  });
  expect(await Promise.all(locations)).toEqual([
    [303, '/projects/nightly'],
    [303, '/projects'],
    [303, '/projects'],
  ]);
});

test('robots are asked to stay away', async () => {
  const home = homePage({
    assets,
    readViewer: async () => null,
    readHealth: async () => WELL,
    isNobodyHere: async () => false,
  });
  const response = await testApp({ deps: { pages: [home] } }).app.request('/robots.txt');
  expect(await response.text()).toBe('User-agent: *\nDisallow: /\n');
});

test('where there is nothing, a browser sees a page and a program reads a problem', async () => {
  const { app } = testApp({ deps: { nothingHere: (c) => c.html('<h1>Nothing here</h1>', 404) } });
  const browser = { headers: { Accept: 'text/html,application/xhtml+xml' } };
  expect(await (await app.request('/nothing', browser)).text()).toBe('<h1>Nothing here</h1>');
  for (const response of [await app.request('/nothing'), await app.request('/api/v1/nothing', browser)])
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
});

test.each([
  ['GET', '/api/v1/nothing', 404, null],
  ['GET', '/nothing', 404, null],
  ['DELETE', '/api/v1/jobs', 405, 'GET, HEAD'],
  ['POST', '/api/v1/jobs/nightly', 405, 'PUT'],
  ['POST', '/healthz', 405, 'GET, HEAD'],
])('%s %s is %i in problem+json, with what is allowed', async (method, path, status, allow) => {
  const response = await testApp().app.request(path, { method });
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('allow')).toBe(allow);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ type: 'about:blank', status });
});

test('a trailing slash leads to the same place in the API too, and names are decoded', async () => {
  const { app } = testApp();
  expect((await app.request('/api/v1/jobs/')).status).toBe(200);
  const put = await app.request('/api/v1/jobs/night%6Cy?x=/', { method: 'PUT' });
  expect(await put.json()).toEqual({ slug: 'nightly' });
});

function failingWith(error: Error) {
  const api = new Hono().get('/jobs', () => {
    throw error;
  });
  return testApp({ deps: { api } });
}

test('a lost database is 503 with Retry-After, and no bug', async () => {
  const { app, logged } = failingWith(new DatabaseUnavailable('gone'));
  const response = await app.request('/api/v1/jobs');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  expect(logged).toEqual([]);
});

test('a refusal by Hono keeps its status; anything else is a logged 500 without its text', async () => {
  expect((await failingWith(new HTTPException(413, { message: 'too large' })).app.request('/api/v1/jobs')).status).toBe(
    413,
  );
  const { app, logged } = failingWith(new Error('password=secret'));
  const response = await app.request('/api/v1/jobs');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret');
  expect(logged).toHaveLength(1);
});

test('a process without the web role serves its probes and nothing else', async () => {
  const app = createProbes({
    readHealth: async () => ({ status: 'ok', tz_version: '2026a', checks: [] }),
    metrics: createMetrics(),
    log: { error: () => undefined },
  });
  expect((await app.request('/healthz')).status).toBe(200);
  expect((await app.request('/metrics')).status).toBe(200);
  expect((await app.request('/ping/3f2504e0-4f89-41d3-9a0c-0305e82c3301')).status).toBe(404);
});
