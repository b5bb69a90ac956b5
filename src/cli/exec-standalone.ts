#!/usr/bin/env node
import { runExec } from './exec.ts';

/** Filled in by the build: a single file has no package.json beside it. */
declare const ROLLCALL_VERSION: string;

// `rollcall-exec JOB -- COMMAND` on hosts that have only Node; the word `exec` may stand there or not.
const words = process.argv.slice(2);
// biome-ignore lint/style/noProcessEnv: handed to the reader of exec's settings
void runExec(words[0] === 'exec' ? words.slice(1) : words, process.env, ROLLCALL_VERSION).then((code) =>
  process.exit(code),
);
