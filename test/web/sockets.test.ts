import { describe, expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../src/store/database.ts';
import { curl, ON_TIME, raw, served, testApp, UUID } from './harness.ts';

describe('over a real socket', () => {
  test('HEAD counts once and has no body', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      const { output } = await curl(['-I', `${url}/ping/${UUID}`]);
      expect(output).toMatch(/^HTTP\/1.1 200 OK/);
      expect(output.split('\r\n\r\n')[1]).toBe('');
      const whole = await raw(url, `HEAD /ping/${UUID}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(whole).toMatch(/rollcall-match: current/i);
      expect(whole.endsWith('\r\n\r\n')).toBe(true);
    });
    expect(pings.map(({ method }) => method)).toEqual(['HEAD', 'HEAD']);
  });

  test('the documented snippets work: trailing slash, exit code with output, a pipe', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      const quiet = ['-fsS', '-m', '10', '--retry', '5', '--retry-connrefused', '-o', '/dev/null'];
      expect((await curl([...quiet, `${url}/ping/${UUID}/`])).exitCode).toBe(0);
      expect((await curl([...quiet, '--data-raw', 'two lines\nof log', `${url}/ping/${UUID}/3`])).exitCode).toBe(0);
      expect((await curl([...quiet, '--data-binary', '@-', `${url}/ping/${UUID}/0`], 'from a pipe')).exitCode).toBe(0);
      expect((await curl([`${url}/ping/${UUID}`])).output).toBe('OK');
    });
    const texts = pings.map(({ body }) => Buffer.from(body).toString());
    expect(texts).toEqual(['', 'two lines\nof log', 'from a pipe', '']);
    expect(pings[0]).toMatchObject({ source: '127.0.0.1', method: 'GET', bodyBytes: 0 });
  });

  test('a log of 3 MB, announced by Expect: 100-continue or chunked, is cut and costs nothing', async () => {
    const { app, pings } = testApp();
    const log = Buffer.alloc(3_000_000, 'x');
    await served(app, async (url) => {
      for (const header of ['Expect: 100-continue', 'Transfer-Encoding: chunked']) {
        const args = ['-f', '-H', header, '--data-binary', '@-', `${url}/ping/${UUID}`];
        expect(await curl(args, log)).toMatchObject({ exitCode: 0, output: 'OK' });
      }
    });
    for (const ping of pings) expect(ping).toMatchObject({ bodyBytes: 3_000_000, truncated: true });
    expect(pings.map(({ body }) => body.byteLength)).toEqual([100_000, 100_000]);
  });

  test('a body without end is cut at 10 MB: the ping counts, and its sender hears so', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      const args = ['-T', '-', '-X', 'POST', '-o', '/dev/null', '-w', '%{http_code}', `${url}/ping/${UUID}`];
      const { output } = await curl(args, Buffer.alloc(30_000_000, 'x'));
      expect(output).toBe('200');
    });
    expect(pings).toHaveLength(1);
    expect(pings[0]?.truncated).toBe(true);
    expect(pings[0]?.bodyBytes).toBeLessThan(11_000_000);
  });

  test('a client that stops in the middle of its body holds nothing up: what arrived is stored', async () => {
    const { app, pings } = testApp({ pings: { patience: { idleMs: 50, totalMs: 500 } } });
    await served(app, async (url) => {
      const head = `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n`;
      const reply = await raw(url, `${head}only this much`);
      expect(reply).toMatch(/^HTTP\/1.1 200 OK/);
    });
    expect(pings.map(({ body }) => Buffer.from(body).toString())).toEqual(['only this much']);
    expect(pings[0]?.truncated).toBe(true);
  });

  test('a client that drips its body for ever is cut as well', async () => {
    const { app, pings } = testApp({ pings: { patience: { idleMs: 10_000, totalMs: 60 } } });
    await served(app, async (url) => {
      await raw(url, `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    });
    expect(pings).toHaveLength(1);
  });

  test('a GET may have a body, and a POST none', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      await curl(['-X', 'GET', '--data', 'words', `${url}/ping/${UUID}`]);
      await curl(['-X', 'POST', `${url}/ping/${UUID}`]);
    });
    expect(pings.map(({ method, bodyBytes }) => [method, bodyBytes])).toEqual([
      ['GET', 5],
      ['POST', 0],
    ]);
  });

  test('HTTP/1.0 without a Host header is served', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      expect(await raw(url, `GET /ping/${UUID} HTTP/1.0\r\n\r\n`)).toMatch(/200 OK[\s\S]*\r\n\r\nOK$/);
      expect((await curl(['-0', '--data', 'log', `${url}/ping/${UUID}`])).output).toBe('OK');
    });
    expect(pings).toHaveLength(2);
  });

  test('curl --retry outlasts a database that is away', async () => {
    let failures = 1;
    const { app, pings } = testApp({ answer: () => (failures-- > 0 ? new DatabaseUnavailable('gone') : ON_TIME) });
    await served(app, async (url) => {
      const { exitCode, output } = await curl(['-fsS', '--retry', '2', `${url}/ping/${UUID}`]);
      expect([exitCode, output]).toEqual([0, 'OK']);
    });
    expect(pings).toHaveLength(2);
  });

  test.each([
    ['GET /ping/%zz/job HTTP/1.1', 'malformed percent-encoding in the path'],
    ['GET /ping/key\\job HTTP/1.1', 'invalid url format'],
    [`GET /ping/key/${'%61'.repeat(101)} HTTP/1.1`, 'invalid url format'],
  ])('%s is 400 with a text', async (line, text) => {
    const { app } = testApp();
    await served(app, async (url) => {
      const reply = await raw(url, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(reply).toMatch(/^HTTP\/1.1 400/);
      expect(reply).toContain(text);
    });
  });

  test('Content-Length: abc and an address of 20,000 characters are refused by the parser, and the server lives', async () => {
    const { app } = testApp();
    await served(app, async (url) => {
      const odd = `POST /ping/${UUID} HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n`;
      expect(await raw(url, odd)).toMatch(/^HTTP\/1.1 400/);
      expect(await raw(url, `GET /ping/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1.1 431/);
      expect((await curl([`${url}/ping/${UUID}`])).output).toBe('OK');
    });
  });

  test('on one connection the second ping is answered after the first', async () => {
    const { app, pings } = testApp();
    await served(app, async (url) => {
      const { output } = await curl(['--data', 'a', `${url}/ping/${UUID}/start`, `${url}/ping/${UUID}/0`]);
      expect(output).toBe('OKOK');
    });
    expect(pings.map(({ kind }) => kind)).toEqual(['start', 'success']);
  });

  test('closing lets a reply under way go out, and leaves no idle connection open', async () => {
    let release: (() => void) | undefined;
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reached: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const submit = async () => {
      reached?.();
      await waiting;
      return ON_TIME;
    };
    const { app } = testApp({ pings: { ingest: { submit } } });
    await served(app, async (url, listener) => {
      const reply = curl([`${url}/ping/${UUID}`]);
      await arrived;
      const closed = listener.close(5000);
      release?.();
      expect((await reply).output).toBe('OK');
      await closed;
    });
  });
});
