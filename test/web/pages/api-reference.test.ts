import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiDocument, callsOf, exampleBody } from '../../../src/web/pages/api-document.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
let document: ApiDocument;

beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
  document = (await site.call('GET', '/openapi.json')).json;
});
afterAll(() => site.drop());

test('the reference shows every call and shape of the document, to everybody', async () => {
  site.as(null);
  const { status, text, headers } = await site.open('/api/v1/docs');
  expect(status).toBe(200);
  expect(callsOf(document).length).toBeGreaterThan(30);
  for (const { path, method, operation } of callsOf(document)) {
    expect(text).toContain(`id="${operation.operationId}"`);
    expect(text).toContain(`<code class="method">${method.toUpperCase()}</code> <code>${path}</code>`);
  }
  for (const name of Object.keys(document.components?.schemas ?? {})) expect(text).toContain(`id="shape-${name}"`);
  for (const [, to = ''] of text.matchAll(/href="#([^"]+)"/g)) expect(text, to).toContain(`id="${to}"`);
  expect(text).not.toContain('[object');
  expect(headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self'");
  site.as('owner');
});

test('an example body has every required field', () => {
  const schema = { $ref: '#/components/schemas/JobDefinition' };
  expect(exampleBody(document, schema)).toMatchObject({ zone: 'Europe/Berlin', schedules: [{ cron: '30 2 * * *' }] });
});
