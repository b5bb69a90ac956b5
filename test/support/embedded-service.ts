import { createLog } from '../../src/log.ts';
import { startEmbedded } from '../../src/store/embedded.ts';

/** A service of which only the database is real: for tests that kill it. Says one JSON line, ends on SIGTERM. */
const [dataDir = ''] = process.argv.slice(2);
const say = (words: object): void => void process.stdout.write(`${JSON.stringify(words)}\n`);

try {
  const { url, reused, stop } = await startEmbedded(dataDir, createLog('silent'), { durable: false });
  process.on('SIGTERM', () => void stop().then(() => process.exit(0)));
  // The server's own process keeps this one alive.
  say({ url, reused });
} catch (error) {
  say({ error: String(error) });
  process.exitCode = 1;
}
