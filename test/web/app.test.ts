import { createHash } from 'node:crypto';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../src/store/database.ts';
import { createProbes } from '../../src/web/app.ts';
import { createMetrics } from '../../src/web/metrics.ts';
import { testApp } from './harness.ts';

test('the page at / says what this is and how it is, without script and under a strict policy', async () => {
  const checks = [
    { name: 'evaluator', ok: false, detail: '<b>stuck</b>' },
    { name: 'tz', ok: false, detail: 'old' },
  ];
  const { app } = testApp({ deps: { readHealth: async () => ({ status: 'failing', tz_version: '2026a', checks }) } });
  const response = await app.request('/');
  const page = await response.text();
  expect(response.status).toBe(200);
  expect(page).toMatch(/^<!doctype html><html/i);
  expect(page).toContain('not well');
  expect(page).toContain('/api/v1/docs');
  expect(page).toContain('&lt;b&gt;stuck&lt;/b&gt;');
  expect(page).toContain('✗ evaluator');
  // What never turns it red is no cross.
  expect(page).toContain('i tz');
  expect(page).not.toContain('<script');
  const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? '';
  const policy = response.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`);
  expect(policy).not.toContain('unsafe-inline');
});

test('robots are asked to stay away', async () => {
  const response = await testApp().app.request('/robots.txt');
  expect(await response.text()).toBe('User-agent: *\nDisallow: /\n');
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
