import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CannotStart, fileReason } from './cannot-start.ts';
import { closedFolders, complaintIn, type Program, runProgram } from './postgres-program.ts';

export const SUPERUSER = 'rollcall';

/** The data of the embedded server: `folder`, below DATA_DIR `dir`. */
export type Cluster = {
  readonly dir: string;
  readonly folder: string;
  readonly program: Program;
  readonly durable: boolean;
};

/** Makes sure that the folder holds data this program can run on, and answers the password. No server may run on it. */
export async function openCluster(cluster: Cluster): Promise<string> {
  if (!(await isCluster(cluster))) return createCluster(cluster);
  return (await readPassword(cluster.dir)) ?? renewPassword(cluster);
}

/** Where the server's user cannot enter the folders above its data, the line that says which; null otherwise. */
export async function whyClosed(folder: string, { user }: Program): Promise<CannotStart | null> {
  const closed = user ? await closedFolders(folder, user) : [];
  if (!user || closed.length === 0) return null;
  return new CannotStart(
    `the OS user "${user.name}", which runs the database when Rollcall is started as root, cannot enter ${closed.join(', ')}: chmod o+x ${closed.join(' ')}, or set DATA_DIR to a folder elsewhere (such as /var/lib/rollcall)`,
  );
}

const passwordPath = (dir: string): string => join(dir, 'postgres-password');

async function readPassword(dir: string): Promise<string | null> {
  const text = await readFile(passwordPath(dir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new CannotStart(`${passwordPath(dir)} cannot be read: ${fileReason(error)}`);
  });
  return text.trim() || null;
}

async function writePassword(dir: string): Promise<string> {
  const password = randomBytes(24).toString('base64url');
  await writeFile(passwordPath(dir), `${password}\n`, { mode: 0o600 });
  return password;
}

/** True when the folder holds data that this program can run on; throws when it holds other data. */
async function isCluster({ folder, program }: Cluster): Promise<boolean> {
  const owner = await stat(folder).catch(() => null);
  if (!owner) return false;
  const uid = program.user?.uid ?? process.getuid?.();
  if (uid !== undefined && owner.uid !== uid) {
    throw new CannotStart(
      `${folder} belongs to uid ${owner.uid}, but the database would run as uid ${uid}: start Rollcall as the user that created it, or chown -R ${uid} ${folder}`,
    );
  }
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
      throw error;
    },
  );
  if (version === program.version) return true;
  if (!/^\d+(\.\d+)?$/.test(version)) {
    throw new CannotStart(
      `${folder} is there, but is no PostgreSQL data (PG_VERSION is missing): move it away, restore it from a backup, or set DATA_DIR to another folder`,
    );
  }
  throw new CannotStart(
    `${folder} was written by PostgreSQL ${version}, and this Rollcall brings ${program.version}: move the data with pg_dump of ${version}, or set DATABASE_URL to a server of version ${version}`,
  );
}

/** Sets up a new cluster beside its place and moves it there in one step: a start that is cut off leaves nothing behind. */
async function createCluster(cluster: Cluster): Promise<string> {
  const { dir, folder, program } = cluster;
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  try {
    const password = (await readPassword(dir)) ?? (await writePassword(dir));
    await mkdir(draft, { mode: 0o700 });
    await writeFile(join(draft, 'password'), `${password}\n`, { mode: 0o600 });
    for (const path of [draft, join(draft, 'password')]) {
      if (program.user) await chown(path, program.user.uid, program.user.gid);
    }
    await runInitdb(draft, cluster);
    await rename(join(draft, 'data'), folder);
    return password;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function runInitdb(draft: string, { dir, program, durable }: Cluster): Promise<void> {
  const settings = [
    `--pgdata=${join(draft, 'data')}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${join(draft, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The same order of text on every machine, and no dependence on its locales.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(durable ? [] : ['--no-sync']),
  ];
  const { code, output, error } = await runProgram(program.initdb, settings, program.user);
  if (code === 0) return;
  const complaint = error?.message ?? complaintIn(output.split('\n'));
  throw (
    (await whyClosed(draft, program)) ?? new CannotStart(`the database could not be set up in ${dir}: ${complaint}`)
  );
}

/** The password file was lost: whoever may write the data may set another password, while no server runs. */
async function renewPassword({ dir, folder, program }: Cluster): Promise<string> {
  const password = await writePassword(dir);
  const statement = `alter role ${SUPERUSER} password '${password}'\n`;
  const single = ['--single', '-D', folder, 'postgres'];
  const { code, output } = await runProgram(program.postgres, single, program.user, statement);
  if (code === 0) return password;
  await rm(passwordPath(dir), { force: true });
  throw new CannotStart(`the database password could not be renewed: ${complaintIn(output.split('\n'))}`);
}
