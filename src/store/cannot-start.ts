/** The service cannot start, and the message is the whole story: one line for the person who started it, no stack. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

/** What the file system refused, in words that say what to do. */
export function fileReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'there is a file of that name, and a folder is needed';
  if (code === 'EACCES' || code === 'EPERM') {
    return `the OS user of this process (uid ${process.getuid?.()}) may not write there: chown it, or set DATA_DIR to a folder that it owns`;
  }
  if (code === 'EROFS') return 'the file system is read-only: set DATA_DIR to a folder that can be written';
  if (code === 'ENOSPC') return 'the disk is full';
  return message;
}
