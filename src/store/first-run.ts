import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import type { Tx } from './database.ts';
import { addKey, createKey, findProject, hashKey, type KeyKind } from './keys.ts';
import { projects } from './schema.ts';
import { hasOwner, makeSignInLink } from './sign-in-links.ts';

/** What the first start tells; the content of first-run.json. A key that came from the environment is null. */
export type FirstRun = {
  readonly url: string;
  /** By it the owner makes an account, once. */
  readonly sign_in_url: string;
  readonly api_key: string | null;
  readonly ping_key: string | null;
  readonly curl: string | null;
};

export type FirstRunSettings = {
  readonly publicUrl: string;
  readonly dataDir: string;
  /** ROLLCALL_API_KEY and ROLLCALL_PING_KEY. */
  readonly apiKey: string | null;
  readonly pingKey: string | null;
};

export type FirstRunSetup = {
  /** For migrate(): makes project `default` with its keys, under the migration's lock, unless it exists. */
  seed(tx: Tx): Promise<void>;
  /** After the commit: what to tell, or null when this was not the first start and there is an owner. */
  finish(): Told | null;
};

/** `again`: a later start, with a fresh link, because nobody has made the owner's account yet. */
export type Told =
  | { readonly kind: 'first'; readonly told: FirstRun; readonly keptIn: string | null }
  | { readonly kind: 'again'; readonly signInUrl: string };

type Log = { warn(fields: object, message: string): void };

/**
 * Sets up a new installation once. The keys lie in a draft beside `$DATA_DIR/first-run.json` before they are committed,
 * because afterwards only their hashes are known. A folder that cannot be written costs the file, not the start. A file that
 * is there holds the keys of another installation, whose only copy it may be: it stays, and ours is first-run-2.json (or -N).
 */
export function createFirstRun(settings: FirstRunSettings, log: Log): FirstRunSetup {
  let made: FirstRun | null = null;
  let freshUrl: string | null = null;
  let isDrafted = false;
  const draft = join(settings.dataDir, 'first-run.json.new');
  return {
    async seed(tx) {
      const [created] = await tx.db
        .insert(projects)
        .values({ slug: 'default', name: 'Default', createdAt: tx.now })
        .onConflictDoNothing()
        .returning({ id: projects.id });
      if (!created) {
        await warnOfOtherKeys(tx, settings, log);
        if (!(await hasOwner(tx))) freshUrl = await makeSignInLink(tx, settings.publicUrl, { kind: 'first' });
        return;
      }
      const apiKey = settings.apiKey ?? createKey();
      const pingKey = settings.pingKey ?? createKey();
      await addKey(tx, created.id, 'api', apiKey);
      await addKey(tx, created.id, 'ping', pingKey);
      const signInUrl = await makeSignInLink(tx, settings.publicUrl, { kind: 'first' });
      made = describe(settings, { apiKey, pingKey, signInUrl });
      isDrafted = attempt(log, () => writeDraft(draft, made));
    },
    finish() {
      if (made === null) return freshUrl === null ? null : { kind: 'again', signInUrl: freshUrl };
      const path = freePath(settings.dataDir);
      const isKept = isDrafted && attempt(log, () => renameSync(draft, path));
      if (isKept && !path.endsWith('first-run.json'))
        log.warn({ file: path }, 'first-run.json holds the keys of another installation and stays as it is');
      return { kind: 'first', told: made, keptIn: isKept ? path : null };
    },
  };
}

function describe(
  settings: FirstRunSettings,
  { apiKey, pingKey, signInUrl }: { readonly apiKey: string; readonly pingKey: string; readonly signInUrl: string },
): FirstRun {
  const ownPingKey = settings.pingKey === null ? pingKey : null;
  return {
    url: settings.publicUrl,
    sign_in_url: signInUrl,
    api_key: settings.apiKey === null ? apiKey : null,
    ping_key: ownPingKey,
    curl: ownPingKey === null ? null : curlLine(settings.publicUrl, ownPingKey),
  };
}

function curlLine(publicUrl: string, pingKey: string): string {
  return `curl -fsS '${publicUrl}/ping/${pingKey}/my-first-job?create=1'`;
}

function freePath(dataDir: string): string {
  for (let n = 1; ; n += 1) {
    const path = join(dataDir, n === 1 ? 'first-run.json' : `first-run-${n}.json`);
    if (!existsSync(path)) return path;
  }
}

function writeDraft(draft: string, content: FirstRun | null): void {
  mkdirSync(join(draft, '..'), { recursive: true });
  // The mode counts only for a new file.
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
}

function attempt(log: Log, write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'first-run.json cannot be written to DATA_DIR: note the keys now');
    return false;
  }
}

const VARIABLES = { api: 'ROLLCALL_API_KEY', ping: 'ROLLCALL_PING_KEY' } as const;

/** Keys in the environment count at the first start only. */
async function warnOfOtherKeys(tx: Tx, { apiKey, pingKey }: FirstRunSettings, log: Log): Promise<void> {
  const given: readonly (readonly [KeyKind, string | null])[] = [
    ['api', apiKey],
    ['ping', pingKey],
  ];
  for (const [kind, key] of given) {
    if (key === null) continue;
    const [project] = await tx.db.select({ id: projects.id }).from(projects).where(eq(projects.slug, 'default'));
    if ((await findProject(tx, kind, hashKey(key))) === (project?.id ?? null)) continue;
    const message = `${VARIABLES[kind]} is not a key of project default, which was made before: it is ignored, and nothing is changed`;
    log.warn({ variable: VARIABLES[kind] }, message);
  }
}

/** Keys from the environment are not shown at all. */
function shownOnce(apiKey: string | null, pingKey: string | null, keptIn: string | null): string {
  if (apiKey === null && pingKey === null) return '  ';
  const several = apiKey !== null && pingKey !== null;
  const what = several ? 'The keys are' : `The ${apiKey !== null ? 'API' : 'ping'} key is`;
  const kept = keptIn === null ? '. ' : `, and kept in ${keptIn} (mode 600).\n  `;
  return `  ${what} shown this once${kept}`;
}

/** The same for a person at the terminal. */
export function toldText(told: Told): string {
  return told.kind === 'first' ? firstRunText(told.told, told.keptIn) : signInText(told.signInUrl);
}

function signInText(signInUrl: string): string {
  return `\n  Nobody has signed in yet. Make the owner's account, once, at\n  ${signInUrl}\n\n`;
}

/** `keptIn`: the file, unless it could not be written. */
export function firstRunText({ url, sign_in_url, api_key, ping_key, curl }: FirstRun, keptIn: string | null): string {
  return [
    '',
    `  Rollcall is set up: ${url}`,
    '',
    "  Make the owner's account, once, at",
    `  ${sign_in_url}`,
    '',
    `  API key:   ${api_key ?? 'as given in ROLLCALL_API_KEY'}`,
    `  Ping key:  ${ping_key ?? 'as given in ROLLCALL_PING_KEY'}`,
    '',
    `${shownOnce(api_key, ping_key, keptIn)}Make a job by its first ping:`,
    `  ${curl ?? `curl -fsS "${url}/ping/$ROLLCALL_PING_KEY/my-first-job?create=1"`}`,
    '',
    '',
  ].join('\n');
}
