import { request } from 'node:http';
import { type Run, rollcall } from '../cli/process.ts';

export const API_KEY = 'proof-api-key-0123456789';
export const PING_KEY = 'proof-ping-key-0123456789';

/** The real service in a process of its own. */
export type Service = {
  readonly url: string;
  readonly pid: number;
  readonly printed: Run['printed'];
  readonly isAlive: () => boolean;
  /** `kill -9`, and waits until the process is gone. */
  kill(): Promise<void>;
  /** The status and body of /healthz; status 0 when nobody answers. */
  health(): Promise<Health>;
  /** One call of the API, with the key; throws on anything but 2xx. */
  api(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>>;
};

export type Health = {
  readonly status: number;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
};

/** Starts it on a free port, and returns when it takes pings. Without roles it has them all. */
export async function startService(
  env: Readonly<Record<string, string>>,
  roles: readonly string[] = [],
): Promise<Service> {
  const args = ['serve', ...roles.flatMap((role) => ['--role', role])];
  const run = rollcall(args, { PORT: '0', ROLLCALL_API_KEY: API_KEY, ROLLCALL_PING_KEY: PING_KEY, ...env });
  const { child, printed, ended } = run;
  const [, url = ''] = await run.waitFor(/"url":"([^"]+)".*rollcall runs/);
  return {
    url,
    pid: child.pid ?? 0,
    printed,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async health() {
      const { status, text } = await call('GET', `${url}/healthz`).catch(() => ({ status: 0, text: '{"checks":[]}' }));
      return { ...(JSON.parse(text) as Pick<Health, 'checks'>), status };
    },
    async api(method, path, body) {
      const { status, text } = await call(method, `${url}/api/v1${path}`, body);
      if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
      return text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
    },
  };
}

/** One call with the API key; rejects when there is no whole answer in time. */
export function call(
  method: string,
  url: string,
  body?: object,
  patienceMs = 12_000,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${API_KEY}`, ...(body && { 'content-type': 'application/json' }) };
    const asked = request(url, { method, headers, agent: false, timeout: patienceMs }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${patienceMs} ms: ${method} ${url}`)));
    asked.on('error', reject);
    asked.end(body && JSON.stringify(body));
  });
}

/** Waits until `look` answers something; throws with `what` after `seconds`. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  seconds = 20,
): Promise<T> {
  const until = performance.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > until) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
