import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** It calls nobody at home, and needs neither a screen nor a sandbox of its own. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The real Chromium of this machine. Where there is none the tests fail, and say what to do. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath(), args: FLAGS });
}

function browserPath(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin'];
  const paths = [
    process.env['CHROMIUM'] ?? '',
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
  ];
  const found = paths.find((path) => path !== '' && existsSync(path));
  if (found === undefined)
    throw new Error(
      'The browser tests need Chromium: install it (Debian and Ubuntu: "apt-get install chromium"), or name a Chrome in the variable CHROMIUM.',
    );
  return found;
}
