import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../src/store/database.ts';
import { onError } from '../../src/web/problem.ts';

const timedOut = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });

test.each([
  [
    'a database that is away',
    new DatabaseUnavailable('database unavailable: refused'),
    /^The database is not available/,
  ],
  [
    'one that was too slow',
    new DatabaseUnavailable('database unavailable', { cause: timedOut }),
    /took too long over this/,
  ],
  ['a job that is far behind', new DatabaseUnavailable('behind', { trouble: 'behind' }), /^This job is far behind/],
])('%s: 503, which says so', async (_, error, words) => {
  const unexpected: string[] = [];
  const app = new Hono().get('/', () => Promise.reject(error));
  app.onError(onError({ error: (_fields, message) => unexpected.push(message) }));
  const answer = await app.request('/');
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await answer.json()).toMatchObject({ detail: expect.stringMatching(words) });
  expect(unexpected).toEqual([]);
});
