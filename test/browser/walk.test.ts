import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { MEMBER_PAGES, STRANGER_PAGES } from './addresses.ts';
import { ANSWERS } from './answers.ts';
import { complaints, makeOwner } from './owner.ts';
import { axeFindings, type Finding, focusFindings, shapeFindings, widthFindings } from './page-checks.ts';
import { BEGINNING, fillSite } from './seed.ts';
import { type SeededSite, startSeededSite } from './seeded-site.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../data/screenshots/', import.meta.url));
const KEEPS_ALL = process.env['SCREENSHOTS'] === 'all';
/** A page with a password says no more of itself than one that is not there. */
const NOT_THERE = new Set(['nothing', 'status-password']);
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

let site: SeededSite;
let browser: Browser;
let member: BrowserContext;
let stranger: BrowserContext;
let foundAtWelcome: readonly Finding[];
/** Addresses that pages lead to, two of each shape, each with its page. */
const links = new Map<string, { readonly link: string; readonly from: string }>();

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  [site, browser] = await Promise.all([startSeededSite(BEGINNING, fillSite), launchBrowser()]);
  const options = { viewport: WIDE, timezoneId: 'Europe/Paris', baseURL: site.url };
  [member, stranger] = await Promise.all([browser.newContext(options), browser.newContext(options)]);
  const page = await member.newPage();
  await page.goto(site.welcome);
  foundAtWelcome = await examine(page, 'welcome');
  await makeOwner(page, site.welcome);
  await page.goto('/projects');
  await page.fill('[name=name]', 'Empty');
  await page.fill('[name=slug]', 'empty');
  await page.click('form[action="/projects"] button[type=submit]');
  await page.getByText('/ping/').first().waitFor();
  await page.close();
});
afterAll(async () => {
  await browser?.close();
  await site?.drop();
});

describe.each([
  ['member', () => member, MEMBER_PAGES],
  ['stranger', () => stranger, STRANGER_PAGES],
] as const)('pages of a %s', (_, context, pages) => {
  test.each(Object.entries(pages))('%s: %s', async (name, address) => {
    const page = await context().newPage();
    const said = complaints(page);
    try {
      const answer = await page.goto(address);
      expect(answer?.status()).toBe(NOT_THERE.has(name) ? 404 : 200);
      expect(await examine(page, name)).toEqual([]);
      expect(said).toEqual([]);
      for (const link of await linksOf(page)) keep(link, address);
    } finally {
      await page.close();
    }
  });
});

test('the page of the one-time link', () => expect(foundAtWelcome).toEqual([]));

test.each(Object.entries(ANSWERS))('what comes back: %s', async (name, { by, at, act, shows }) => {
  const page = await (by === 'member' ? member : stranger).newPage();
  const said = complaints(page);
  try {
    await page.goto(at);
    expect(await page.locator(`main >> ${shows}`).count()).toBe(0);
    await act(page);
    await page.locator(`main >> ${shows}`).first().waitFor();
    expect(await examine(page, name)).toEqual([]);
    expect(said).toEqual([]);
  } finally {
    await page.close();
  }
});

test('every link of these pages leads somewhere', async () => {
  const broken: string[] = [];
  const isKnown = new Set([...NOT_THERE].map((name) => MEMBER_PAGES[name] ?? STRANGER_PAGES[name]));
  for (const { link, from } of links.values()) {
    if (isKnown.has(link)) continue;
    const answer = await member.request.get(link, { maxRedirects: 2 });
    if (answer.status() >= 400) broken.push(`${answer.status()} ${link} on ${from}`);
    await answer.dispose();
  }
  expect(broken).toEqual([]);
  expect(links.size).toBeGreaterThan(70);
});

/** Thousands of occurrences and pings look alike: the first and the newest link of a shape stand for all of them. */
function keep(link: string, from: string): void {
  const shape = link.replaceAll(/[^/?=&]*\d[^/?=&]*/g, '#');
  if (!links.has(shape)) links.set(shape, { link, from });
  else links.set(`${shape} again`, { link, from });
}

/** Its links to pages of ours, without what is after #. */
const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.links]
    .filter(({ origin }) => origin === location.origin)
    .map(({ pathname, search }) => pathname + search)`);

/**
 * In light and dark, at both widths: all of axe, and again what hangs on theme and width. SCREENSHOTS=all keeps all four looks
 * and asks all of axe twice.
 */
async function examine(page: Page, name: string): Promise<readonly Finding[]> {
  const shot = (look: string) => page.screenshot({ path: `${SCREENSHOTS}${name}-${look}.png`, fullPage: true });
  const found = [
    ...(await shapeFindings(page)),
    ...(await widthFindings(page)),
    ...(await axeFindings(page, { all: true })),
  ];
  await shot('1280-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  if (KEEPS_ALL) await shot('1280-dark');
  await page.setViewportSize(NARROW);
  found.push(...(await widthFindings(page)), ...(await axeFindings(page, { all: KEEPS_ALL })));
  await shot('360-dark');
  if (KEEPS_ALL) {
    await page.emulateMedia({ colorScheme: 'light' });
    await shot('360-light');
  }
  found.push(...(await focusFindings(page)));
  return [...new Set(found)];
}
