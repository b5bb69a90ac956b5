import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** One forbidden import per layer, planted as a file of its own; the linter must refuse each. */
const planted: readonly (readonly [file: string, source: string, why: string])[] = [
  ['core', "import '../store/database.ts';", 'core is pure'],
  ['core', "import 'node:fs';", 'core is pure'],
  ['store', "import '../engine/ingest.ts';", 'store imports only core'],
  ['engine', "import '../notify/dispatcher.ts';", 'engine imports core, store and clock'],
  ['engine', "import 'drizzle-orm';", 'another home'],
  ['notify', "import '../engine/ingest.ts';", 'notify imports core, store and clock'],
  ['notify', "import 'postgres';", 'another home'],
  ['web', "import '../notify/dispatcher.ts';", 'web imports core, store, engine and notify/registry'],
  ['web', "import '../main.ts';", 'web imports core, store, engine and notify/registry'],
  ['cli', "import '../main.ts';", 'nothing imports main.ts'],
  ['cli', "import 'nodemailer';", 'notify/email.ts only'],
  ['exec', "import '../store/database.ts';", 'exec is one file'],
  ['exec', "import 'pino';", 'exec is one file'],
  ['engine', 'export const environment = process.env;', 'noProcessEnv'],
];

const root = path.resolve(import.meta.dirname, '..');
const files = planted.map(([layer], i) => path.join(root, 'src', layer, `planted-${i}.ts`));

beforeAll(async () => {
  for (const [i, [layer, source]] of planted.entries()) {
    await mkdir(path.join(root, 'src', layer), { recursive: true });
    await writeFile(files[i] ?? '', `${source}\n`);
  }
});
afterAll(() => Promise.all(files.map((file) => rm(file, { force: true }))));

test('the linter refuses an import that breaks the layers, in each of them', async () => {
  const biome = path.join(root, 'node_modules', '.bin', 'biome');
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', ...files];
  const { stdout } = await promisify(execFile)(biome, args, { cwd: root }).catch((error) => error);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly unknown[] };
  for (const [i, [layer, , why]] of planted.entries()) {
    const own = diagnostics.filter((one) => JSON.stringify(one).includes(`planted-${i}.ts`));
    expect(JSON.stringify(own), `${layer}: ${why}`).toContain(why);
  }
});
