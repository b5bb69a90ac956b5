import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of a reply: it is replaced by a 503, its connection breaks, or it never comes. */
type Mishap = '503' | 'drop' | 'hang';

type Forwarded = {
  readonly slug: string;
  readonly body: string;
  /** What Rollcall answered, and with which `Rollcall-Match`. */
  readonly status: number;
  readonly match: string;
  readonly occurrence: string;
  readonly mishap: Mishap | null;
};

export type LossyProxy = {
  readonly url: string;
  /** In the order in which Rollcall answered. */
  readonly forwarded: readonly Forwarded[];
  /** The next replies about this job are lost in these ways. */
  lose(slug: string, ...mishaps: Mishap[]): void;
  close(): Promise<void>;
};

/** Stands between the jobs and Rollcall. Every request gets through and is answered; replies may be lost on the way back. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const forwarded: Forwarded[] = [];
  const plans = new Map<string, Mishap[]>();
  const server = createServer((request, response) => {
    forward(target, request, response, (slug) => plans.get(slug)?.shift() ?? null).then(
      (done) => void forwarded.push(done),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwarded,
    lose: (slug, ...mishaps) => void plans.set(slug, mishaps),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function forward(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  nextMishap: (slug: string) => Mishap | null,
): Promise<Forwarded> {
  const body = await bytesOf(request);
  const path = request.url ?? '';
  const slug = path.split('/')[3] ?? '';
  const upstream = httpRequest(`${target}${path}`, { method: request.method, headers: request.headers, agent: false });
  upstream.end(body);
  const [reply] = (await once(upstream, 'response')) as [IncomingMessage];
  const said = await bytesOf(reply);
  const mishap = nextMishap(slug);
  if (mishap === null) response.writeHead(reply.statusCode ?? 502, reply.headers).end(said);
  else if (mishap === '503') response.writeHead(503).end('the proxy lost its way');
  else if (mishap === 'drop') response.destroy();
  return {
    slug,
    body: body.toString(),
    status: reply.statusCode ?? 0,
    match: String(reply.headers['rollcall-match']),
    occurrence: String(reply.headers['rollcall-occurrence']),
    mishap,
  };
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
