import { randomUUID } from 'node:crypto';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** One ping that was answered. */
export type Answered = {
  readonly rid: string;
  readonly slug: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The occurrence it was told to be about. */
  readonly key: string | undefined;
  readonly ms: number;
};

export type Load = {
  readonly answered: readonly Answered[];
  /** What was answered 200 or 201: promised to be kept. */
  readonly acknowledged: ReadonlyMap<string, Answered>;
  /** Pings whose connection broke, or that had no answer within 20 s; nothing more is sent on that connection. */
  readonly unanswered: readonly string[];
  /** Lets the pings under way end, and sends no more. */
  stop(): Promise<void>;
};

export type LoadOptions = {
  readonly url: string;
  readonly connections: number;
  /** Path and query of the next ping, without the run id. */
  readonly next: (count: number) => { readonly slug: string; readonly path: string };
};

const PATIENCE_MS = 20_000;
/** Whoever is told to come again does so after this: asked without a pause, a refusal is all that the machine works on. */
const PAUSE_MS = 20;

/** Sends pings over real connections, each one request at a time, and every ping with a run id of its own. */
export function startLoad({ url, connections, next }: LoadOptions): Load {
  const answered: Answered[] = [];
  const acknowledged = new Map<string, Answered>();
  const unanswered: string[] = [];
  let isStopped = false;
  let count = 0;
  const one = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isStopped) {
      const { slug, path } = next(count++);
      const rid = randomUUID();
      const answer = await ping(agent, `${url}${path}${path.includes('?') ? '&' : '?'}rid=${rid}`).catch(() => null);
      if (answer === null) {
        unanswered.push(rid);
        break;
      }
      const whole = { rid, slug, ...answer };
      answered.push(whole);
      if (answer.status === 200 || answer.status === 201) acknowledged.set(rid, whole);
      else await sleep(PAUSE_MS);
    }
    agent.destroy();
  };
  const done = Promise.all(Array.from({ length: connections }, one));
  return {
    answered,
    acknowledged,
    unanswered,
    async stop() {
      isStopped = true;
      await done;
    },
  };
}

function ping(agent: Agent, url: string): Promise<Pick<Answered, 'status' | 'retryAfter' | 'key' | 'ms'>> {
  const asked = performance.now();
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        const key = headers['rollcall-occurrence'];
        resolve({
          status: statusCode,
          retryAfter: headers['retry-after'],
          key: Array.isArray(key) ? key[0] : key,
          ms: performance.now() - asked,
        });
      });
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
    request.on('error', reject);
  });
}
