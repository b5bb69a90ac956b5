import { expect, test } from 'vitest';
import { createLog } from '../src/log.ts';

function lines(write: (log: ReturnType<typeof createLog>) => void, secrets: readonly string[] = []): string {
  const written: string[] = [];
  write(createLog('info', { secrets, destination: { write: (line) => void written.push(line) } }));
  return written.join('');
}

test('a log line carries no secret, wherever it stands', () => {
  const text = lines(
    (log) => {
      log.info(
        { headers: { authorization: 'Bearer hunter2', cookie: 'sid=hunter2' } },
        'a request with Bearer hunter2.x-y',
      );
      log.info(
        { channel: { url: 'https://hooks.slack.com/services/T0/hunter2?x=hunter2' } },
        'to https://example.com/hunter2',
      );
      log.info({ smtpUrl: 'smtp://u:hunter2@mail', nested: { deep: { apiKey: 'hunter2', secret: 'a"hunter2' } } });
      log.warn(
        { err: new Error('postgres://u:hunter2@db/x refused, whsec_hunter2') },
        'GET /ping/hunter2/backup/start',
      );
      log.warn('the key is key-from-the-environment');
    },
    ['key-from-the-environment'],
  );
  expect(text).not.toMatch(/hunter2|key-from/);
  expect(text).toContain('https://hooks.slack.com/…');
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toHaveLength(5);
});

test('an error is logged with its causes, and without what users sent', () => {
  const cause = Object.assign(new Error('duplicate key'), { code: '23505', parameters: ['hunter2'] });
  const error = Object.assign(
    new Error('Failed query: insert into t values ($1)\nparams: hunter2,\nhunter2', { cause }),
    {
      params: ['hunter2'],
    },
  );
  const text = lines((log) => log.error({ error }, 'it failed'));
  expect(text).not.toContain('hunter2');
  expect(JSON.parse(text)).toMatchObject({
    error: { message: 'Failed query: insert into t values ($1)', cause: { code: '23505', message: 'duplicate key' } },
  });
});

test('so are the errors among the details of a library', () => {
  const failed = Object.assign(
    new Error('Failed query: select $1\nparams: hunter2', { cause: new Error('it is away') }),
    {
      query: 'select $1',
      params: ['hunter2'],
    },
  );
  const text = lines((log) => log.error({ details: [failed, 'as it said'] }, 'sign-in: it failed'));
  expect(text).not.toContain('hunter2');
  expect(JSON.parse(text)).toMatchObject({
    details: [{ message: 'Failed query: select $1', cause: { message: 'it is away' } }, 'as it said'],
  });
});
