import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export type ReceivedRequest = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** What the receiver does with one request: answers it, breaks the connection, or keeps it until `release()`. */
export type HttpReply =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'reset'
  | 'hang';

/** A real HTTP receiver. Replies are used up in order; after them every request gets `200 ok`. */
export type HttpReceiver = {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  reply(...replies: HttpReply[]): void;
  /** Every request from now on gets this one, or what the function answers to it. */
  always(reply: HttpReply | ((request: ReceivedRequest) => HttpReply)): void;
  /** Waits until so many requests have come since the start. */
  arrived(count: number): Promise<void>;
  /** Answers every request that hangs. */
  release(): void;
  close(): Promise<void>;
};

export async function createHttpReceiver(): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  const replies: HttpReply[] = [];
  const hanging: ServerResponse[] = [];
  let standing: HttpReply | ((request: ReceivedRequest) => HttpReply) = { status: 200, body: 'ok' };
  const arrival = listeners();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const received = { path: request.url ?? '', headers: request.headers, body };
    requests.push(received);
    const reply = replies.shift() ?? (typeof standing === 'function' ? standing(received) : standing);
    if (reply === 'reset') request.socket.resetAndDestroy();
    else if (reply === 'hang') hanging.push(response);
    else response.writeHead(reply.status, reply.headers).end(reply.body ?? '');
    arrival.tell();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    reply: (...more) => void replies.push(...more),
    always: (reply) => {
      standing = reply;
    },
    arrived: (count) => arrival.until(() => requests.length >= count),
    release: () => {
      for (const response of hanging.splice(0)) response.writeHead(200).end('ok');
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function listeners() {
  const waiting = new Set<() => void>();
  return {
    tell: () => {
      for (const look of waiting) look();
    },
    until: (isSo: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!isSo()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

type ReceivedMail = { readonly from: string; readonly to: readonly string[]; readonly raw: string };
export type SmtpReply = { readonly code: number; readonly text: string };

/** A real SMTP receiver. `refuse` answers the next step of that name once; everything else is taken. */
export type SmtpReceiver = {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  refuse(step: 'sender' | 'recipient' | 'data', reply: SmtpReply): void;
  close(): Promise<void>;
};

export async function createSmtpReceiver(): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = [];
  const refusals: Record<'sender' | 'recipient' | 'data', SmtpReply[]> = { sender: [], recipient: [], data: [] };
  const refusal = (step: 'sender' | 'recipient' | 'data'): Error | null => {
    const reply = refusals[step].shift();
    return reply ? Object.assign(new Error(reply.text), { responseCode: reply.code }) : null;
  };
  const options: SMTPServerOptions = {
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 100,
    onMailFrom: (_, __, done) => done(refusal('sender')),
    onRcptTo: (_, __, done) => done(refusal('recipient')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const refused = refusal('data');
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        if (!refused)
          mails.push({ from, to: rcptTo.map(({ address }) => address), raw: Buffer.concat(chunks).toString('latin1') });
        done(refused);
      });
    },
  };
  const server = new SMTPServer(options);
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    mails,
    refuse: (step, reply) => void refusals[step].push(reply),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Takes connections and never says a word. */
export async function createSilentServer(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The decoded parts of a raw mail, as a reader's program shows them. */
export function readMail(raw: string): { readonly headers: string; readonly text: string; readonly html: string } {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const headers = head.replace(/\r\n[ \t]+/g, ' ');
  const boundary = /boundary="([^"]+)"/.exec(headers)?.[1] ?? '';
  const parts = rest.join('\r\n\r\n').split(`--${boundary}`);
  const part = (type: string): string => {
    const found = parts.find((it) => it.includes(`Content-Type: ${type}`)) ?? '';
    return decodeQuotedPrintable(found.slice(found.indexOf('\r\n\r\n') + 4));
  };
  return { headers, text: part('text/plain'), html: part('text/html') };
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}
