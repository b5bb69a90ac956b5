import { createServer, type ServerResponse } from 'node:http';

/** Something between a host and Rollcall, as a proxy is. */
export type Between = {
  readonly url: string;
  /** What it does with pings; null: it passes them on. */
  pings: Instead | null;
  /** Everything but pings. */
  rest: Instead | null;
  /** Of so many requests for a claim that Rollcall gets, the answer gets lost. */
  claimsToLose: number;
  close(): void;
};

/** An answer of its own, as plain text. */
type Instead = { readonly status: number; readonly headers?: Readonly<Record<string, string>> };

export async function openBetween(rollcall: string): Promise<Between> {
  const server = createServer(async (asked, answer) => {
    const body: Buffer[] = [];
    for await (const chunk of asked) body.push(chunk as Buffer);
    const { method = 'GET', headers, url = '/' } = asked;
    const instead = url.startsWith('/ping/') ? between.pings : between.rest;
    if (instead) return respond(answer, instead);
    const { authorization } = headers;
    const response = await fetch(`${rollcall}${url}`, {
      method,
      headers: { ...(authorization ? { authorization } : {}), 'content-type': headers['content-type'] ?? '' },
      ...(body.length > 0 ? { body: Buffer.concat(body) } : {}),
    });
    const text = await response.text();
    if (url.endsWith('/claims') && between.claimsToLose > 0) {
      between.claimsToLose -= 1;
      return void answer.destroy();
    }
    const passed = [...response.headers].filter(([name]) => name !== 'content-length' && name !== 'connection');
    answer.writeHead(response.status, Object.fromEntries(passed)).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const between: Between = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    pings: null,
    rest: null,
    claimsToLose: 0,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return between;
}

function respond(answer: ServerResponse, { status, headers }: Instead): void {
  answer.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(`${status} page not found\n`);
}
