import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { tabTo } from './keys.ts';
import { complaints, makeOwner } from './owner.ts';
import { type SeededSite, startSeededSite } from './seeded-site.ts';

// The schedule editor on the day before the clocks go back in Berlin.

const NEW = '/projects/default/jobs/+new';

let site: SeededSite;
let browser: Browser;
let contexts: Readonly<Record<'live' | 'still', BrowserContext>>;
let page: Page;
let complained: readonly string[];

beforeAll(async () => {
  [site, browser] = await Promise.all([startSeededSite('2026-10-24T12:00:00Z', async () => {}), launchBrowser()]);
  const options = { baseURL: site.url, timezoneId: 'America/New_York' };
  const live = await browser.newContext(options);
  await makeOwner(await live.newPage(), site.welcome);
  const storageState = await live.storageState();
  contexts = { live, still: await browser.newContext({ ...options, storageState, javaScriptEnabled: false }) };
});
afterAll(async () => {
  await browser?.close();
  await site?.drop();
});

const open = async (which: 'live' | 'still', address: string): Promise<void> => {
  page = await contexts[which].newPage();
  complained = complaints(page);
  await page.goto(address);
};
afterEach(async () => {
  expect(complained).toEqual([]);
  await page.close();
});

const preview = () => page.locator('#schedule-preview');
const times = (text: string) => page.getByLabel('Times', { exact: true }).fill(text);

describe('a schedule that a clock change touches', () => {
  beforeEach(() => open('live', NEW));

  test('says while it is typed what happens on the night, each time with its offset', async () => {
    await times('30 2 * * *');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await preview()
      .getByText('On 25 October 2026 02:30 happens twice; this job is expected once, on the first.')
      .waitFor();
    const due = await preview().getByRole('time').or(preview().locator('time')).allTextContents();
    expect(due).toEqual(expect.arrayContaining(['2026-10-25 02:30+02:00', '2026-10-26 02:30+01:00']));
    expect(due).not.toContain('2026-10-25 02:30+01:00');
    // Beside them in the zone of whoever reads.
    expect(due).toContain('2026-10-24 20:30-04:00');

    await times('*/30 2 * * *');
    await preview().getByText('this job is expected both times, 1h apart').waitFor();
    const both = await preview().locator('time').allTextContents();
    expect(both).toEqual(expect.arrayContaining(['2026-10-25 02:30+02:00', '2026-10-25 02:30+01:00']));
  });

  test('is refused at the field, and nothing that was typed is lost', async () => {
    await page.getByLabel('Name').fill('Rates');
    await page.getByLabel('Description').fill('Two lines,\nboth kept.');
    await times('*/30 2 * *');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.locator('[name=grace]').fill('soon');
    await page.getByRole('button', { name: 'Create the job' }).click();
    await page.getByText('Nothing is saved yet').waitFor();
    await expectFlaw('lines', '5 fields');
    await expectFlaw('grace', 'duration');
    expect(await page.locator('#policy-wrong').count()).toBe(1);
    const typed = ['name', 'description', 'lines', 'zone', 'grace'].map((name) =>
      page.locator(`[name=${name}]`).inputValue(),
    );
    expect(await Promise.all(typed)).toEqual([
      'Rates',
      'Two lines,\nboth kept.',
      '*/30 2 * *',
      'Europe/Berlin',
      'soon',
    ]);

    // Each error goes as soon as it is mended, and whoever types is not disturbed.
    await times('*/30 2 * * *');
    await page.locator('[name=missed_runs][value=skip]').check();
    await page.locator('[name=grace]').pressSequentially('er');
    await page.getByText('one field needs a change').waitFor();
    await expectFlaw('grace', 'duration');
    await page.locator('[name=grace]').fill('5m');
    await page.getByText('what was wrong is mended').waitFor();
    expect(await page.locator('.wrong:visible, [aria-invalid]').count()).toBe(0);
    expect(await page.evaluate("document.activeElement?.getAttribute('name')")).toBe('grace');
    expect(await page.locator('[name=grace]').inputValue()).toBe('5m');
    await page.getByRole('button', { name: 'Create the job' }).click();
    await page.waitForURL('**/projects/default/jobs/rates');
    expect((await site.t.call('GET', '/jobs/rates')).json).toMatchObject({ grace: '5m', missed_runs: 'skip' });
  });
});

test('a button fills in the zone in place', async () => {
  await open('live', NEW);
  await times('30 2 * * *');
  const address = page.url();
  await page.getByRole('button', { name: 'Use UTC' }).click();
  await preview().locator('time', { hasText: '2026-10-25 02:30 UTC' }).waitFor();
  expect(await page.getByLabel('Time zone').inputValue()).toBe('UTC');
  expect(await page.evaluate('document.activeElement?.textContent?.trim()')).toBe('Use UTC');
  expect(page.url()).toBe(address);
});

/** The message is tied to its field, so that it is read aloud with it. */
async function expectFlaw(name: string, words: string): Promise<void> {
  const field = page.locator(`[name=${name}]`);
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  const ids = (await field.getAttribute('aria-describedby'))?.split(' ') ?? [];
  expect(await page.locator(`#${ids.at(-1)}`).textContent()).toContain(words);
}

test('without JavaScript a button shows the same', async () => {
  await open('still', NEW);
  await times('30 2 * * *');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByRole('button', { name: 'Preview' }).click();
  await preview().getByText('02:30 happens twice; this job is expected once').waitFor();
  expect(await page.getByLabel('Times', { exact: true }).inputValue()).toBe('30 2 * * *');
});

test('a job is edited with the keyboard alone', async () => {
  await site.t.call('PUT', '/jobs/typed', { zone: 'UTC', schedules: [{ cron: '0 3 * * *' }], missed_runs: 'skip' });
  await open('live', '/projects/default/jobs/typed');
  await tabTo(page, 'a[href$="/jobs/typed/edit"]');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/edit');
  await tabTo(page, '[name=lines]');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('30 2 * * *');
  await tabTo(page, '[name=zone]');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('Europe/Berlin');
  await tabTo(page, '[name=missed_runs]');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, '[name=grace]');
  await page.keyboard.type('20m');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/typed');
  const { json } = await site.t.call('GET', '/jobs/typed');
  expect(json).toMatchObject({ zone: 'Europe/Berlin', schedules: [{ cron: '30 2 * * *' }], grace: '20m' });
  expect(json.missed_runs).not.toBe('skip');
});
