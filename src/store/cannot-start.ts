/** The service cannot start, and the message is the whole story: one line for the person who started it, no stack. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}
