import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between the client and the server, and misbehaves on request. */
export type Proxy = {
  readonly url: string;
  /** How many connections have been made through it. */
  readonly connections: () => number;
  /** From now on nothing passes on the open connections, in either direction, and nobody is told. */
  goSilent(): void;
  /** Cuts the connection on which the client says these words next; the server never hears them. */
  cutOnceAt(words: string): void;
  close(): Promise<void>;
};

export async function startProxy(target: string, ownPort = 0): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const pairs: { client: Socket; server: Socket; isSilent: boolean }[] = [];
  let cut: string | null = null;
  const listener = createServer((client) => {
    const pair = { client, server: connect(Number(port), hostname), isSilent: false };
    pairs.push(pair);
    client.on('data', (chunk) => {
      if (pair.isSilent) return;
      if (cut !== null && chunk.includes(cut)) {
        cut = null;
        return void client.destroy();
      }
      pair.server.write(chunk);
    });
    pair.server.on('data', (chunk) => void (pair.isSilent || client.write(chunk)));
    for (const [one, other] of [
      [client, pair.server],
      [pair.server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => void (pair.isSilent || other.destroy()));
    }
  });
  const url = new URL(target);
  url.port = String(await listenOn(listener, ownPort));
  return {
    url: url.href,
    connections: () => pairs.length,
    goSilent: () => {
      for (const pair of pairs) pair.isSilent = true;
    },
    cutOnceAt: (words) => {
      cut = words;
    },
    async close() {
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function listenOn(listener: Server, port: number): Promise<number> {
  return new Promise((resolve) => {
    listener.listen(port, '127.0.0.1', () => {
      const address = listener.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
}
