import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import type { Tx } from './database.ts';
import { addKey, createKey, findProject, hashKey, type KeyKind } from './keys.ts';
import { projects } from './schema.ts';

/** What the first start tells; the content of first-run.json. A key that came from the environment is null. */
export type FirstRun = {
  readonly url: string;
  /** null: there is no sign-in yet. */
  readonly sign_in_url: null;
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
  /** After the commit: what to tell, or null when this was not the first start. */
  finish(): FirstRun | null;
};

type Log = { warn(fields: object, message: string): void };

/**
 * Sets up a new installation once. The keys lie in a draft beside `$DATA_DIR/first-run.json` before they are committed,
 * because afterwards only their hashes are known. A folder that cannot be written costs the file, not the start.
 */
export function createFirstRun(settings: FirstRunSettings, log: Log): FirstRunSetup {
  let made: FirstRun | null = null;
  let isDrafted = false;
  const path = join(settings.dataDir, 'first-run.json');
  return {
    async seed(tx) {
      const [created] = await tx.db
        .insert(projects)
        .values({ slug: 'default', name: 'Default', createdAt: tx.now })
        .onConflictDoNothing()
        .returning({ id: projects.id });
      if (!created) return warnOfOtherKeys(tx, settings, log);
      const apiKey = settings.apiKey ?? createKey();
      const pingKey = settings.pingKey ?? createKey();
      await addKey(tx, created.id, 'api', apiKey);
      await addKey(tx, created.id, 'ping', pingKey);
      made = describe(settings, apiKey, pingKey);
      isDrafted = attempt(log, () => writeDraft(path, made));
    },
    finish() {
      if (isDrafted) attempt(log, () => renameSync(`${path}.new`, path));
      return made;
    },
  };
}

function describe(settings: FirstRunSettings, apiKey: string, pingKey: string): FirstRun {
  const ownPingKey = settings.pingKey === null ? pingKey : null;
  return {
    url: settings.publicUrl,
    sign_in_url: null,
    api_key: settings.apiKey === null ? apiKey : null,
    ping_key: ownPingKey,
    curl: ownPingKey === null ? null : curlLine(settings.publicUrl, ownPingKey),
  };
}

function curlLine(publicUrl: string, pingKey: string): string {
  return `curl -fsS '${publicUrl}/ping/${pingKey}/my-first-job?create=1'`;
}

function writeDraft(path: string, content: FirstRun | null): void {
  mkdirSync(join(path, '..'), { recursive: true });
  // The mode counts only for a new file.
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
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
function shownOnce(apiKey: string | null, pingKey: string | null): string {
  if (apiKey !== null && pingKey !== null) return '  The keys are shown this once. ';
  if (apiKey !== null || pingKey !== null) return `  The ${apiKey !== null ? 'API' : 'ping'} key is shown this once. `;
  return '  ';
}

/** The same for a person at the terminal. */
export function firstRunText({ url, api_key, ping_key, curl }: FirstRun): string {
  return [
    '',
    `  Rollcall is set up: ${url}`,
    '',
    `  API key:   ${api_key ?? 'as given in ROLLCALL_API_KEY'}`,
    `  Ping key:  ${ping_key ?? 'as given in ROLLCALL_PING_KEY'}`,
    '',
    `${shownOnce(api_key, ping_key)}Make a job by its first ping:`,
    `  ${curl ?? `curl -fsS "${url}/ping/$ROLLCALL_PING_KEY/my-first-job?create=1"`}`,
    '',
    '',
  ].join('\n');
}
