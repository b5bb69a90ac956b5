import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rollcall } from '../cli/process.ts';
import { launchBrowser } from '../support/browser.ts';
import { createTestDatabase } from '../support/database.ts';
import { createHttpReceiver, type HttpReceiver } from '../support/receivers.ts';
import { ADA, complaints, makeOwner } from './owner.ts';

// The whole service as a process of its own, as it is after `npm start`, and a person who has nothing but a browser.

const LONGEST_MS = 60_000;
const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

describe.concurrent('from the first-run link to the first alert, and back to quiet', () => {
  test.each([
    ['with JavaScript, the pages moving by themselves', true],
    ['without JavaScript, by reloading', false],
  ])('%s', { timeout: 4 * LONGEST_MS }, async (_, isLive) => {
    const service = await startService();
    const context = await browser.newContext({ javaScriptEnabled: isLive, baseURL: service.url });
    const page = await context.newPage();
    page.setDefaultTimeout(LONGEST_MS);
    const complained = complaints(page);
    const soon = (text: string) => appears(page, text, isLive);
    try {
      await makeOwner(page, service.welcome);
      expect((await page.goto(service.welcome))?.status(), 'the link works once').toBe(410);
      await firstJob(page, soon);
      await addChannel(page, service.receiver);
      await dueJob(page);
      await publish(page, browser, service.url);
      await trouble(page, service.receiver, soon);
      await settle(page);
      await outAndIn(page);
      await service.receiver.arrived(3);
      expect(eventOf(service.receiver, 2)).toMatchObject({ type: 'incident.resolved', job: { slug: 'invoices' } });
      expect(complained).toEqual([]);
      expect(service.printed()).not.toMatch(/"level":(?:50|60)/);
    } finally {
      await context.close();
      await service.stop();
    }
  });
});

async function startService() {
  const [store, receiver, folder] = await Promise.all([
    createTestDatabase(),
    createHttpReceiver(),
    mkdtemp(join(tmpdir(), 'rollcall-journey-')),
  ]);
  const run = rollcall(['serve'], {
    DATABASE_URL: store.url,
    DATA_DIR: folder,
    PORT: '0',
    OUTBOUND_ALLOW: '127.0.0.0/8',
    LOG_LEVEL: 'warn',
  });
  const [welcome = ''] = await run.waitFor(/http:\S+\/welcome\/\S+/);
  return {
    welcome,
    url: new URL(welcome).origin,
    receiver,
    printed: () => run.printed.out,
    async stop() {
      run.child.kill('SIGTERM');
      await run.ended;
      await receiver.close();
      await store.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the page says it: by itself where it is live, else by being reloaded. */
async function appears(page: Page, text: string, isLive: boolean): Promise<void> {
  const found = page.getByText(text).first();
  if (isLive) return found.waitFor();
  await expect
    .poll(async () => (await page.reload()) && (await found.count()), { timeout: LONGEST_MS, interval: 500 })
    .toBe(1);
}

async function firstJob(page: Page, soon: (text: string) => Promise<void>): Promise<void> {
  await page.goto('/');
  await page.getByRole('heading', { name: 'No jobs yet' }).waitFor();
  await page.getByLabel('Name').fill('Nightly backup');
  await page.getByRole('button', { name: 'Make the job' }).click();
  await page.getByText('Waiting for the first ping').waitFor();
  const command = await page.locator('#curl').textContent();
  const { status } = await fetch(command?.trim().split(' ').at(-1) ?? '');
  expect(status).toBe(200);
  await soon('It came.');
}

async function addChannel(page: Page, receiver: HttpReceiver): Promise<void> {
  await page.getByRole('link', { name: 'Channels' }).click();
  await page.getByRole('link', { name: 'Add a channel' }).click();
  await page.getByRole('link', { name: 'Webhook' }).click();
  await page.getByLabel('Slug').fill('hook');
  await page.locator('[name=url]').fill(`${receiver.url}/hook`);
  await page.locator('[name=secret]').fill(SECRET);
  await page.locator('main button[type=submit].main').click();
  await page.getByRole('button', { name: 'Send a test message' }).click();
  await page.getByText('The test message was delivered.').waitFor();
  expect(receiver.requests).toHaveLength(1);
}

/** Two occurrences are due within seconds, and nobody runs them: the next ones are in an hour. */
async function dueJob(page: Page): Promise<void> {
  await page.goto('/projects/default/jobs/+new');
  await page.getByLabel('Name').fill('Invoices');
  await page.getByLabel('Time zone').fill('UTC');
  await page.locator('[name=missed_runs][value=catch_up]').check();
  await page.locator('[name=grace]').fill('0s');
  const seconds = Math.ceil(Date.now() / 1000) + 10;
  const lines = [seconds, seconds + 1].map((at) => `every 1h from ${new Date(at * 1000).toISOString().slice(0, 19)}Z`);
  await page.getByLabel('Times', { exact: true }).fill(lines.join('\n'));
  await page.getByRole('button', { name: 'Create the job' }).click();
  await page.getByText('Invoices is made.').waitFor();
}

/** The rest of the company sees it without an account. */
async function publish(page: Page, browser: Browser, url: string): Promise<void> {
  await page.goto('/projects/default/status-pages/+new');
  await page.getByLabel('Address').fill('acme');
  await page.getByLabel('Title').fill('Acme nightly');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByLabel('Group of row 1').fill('Money');
  await page.getByLabel('Job or tag of row 1').fill('invoices');
  await page.getByRole('button', { name: 'Create the page' }).click();
  await page.getByRole('heading', { name: 'Acme nightly' }).waitFor();
  const stranger = await browser.newContext();
  const view = await stranger.newPage();
  await view.goto(`${url}/status/acme`);
  await view.getByRole('heading', { name: 'Acme nightly' }).waitFor();
  expect(await view.content()).not.toContain('/ping/');
  const left = async (of: string) => (await view.locator(of).first().boundingBox())?.x;
  expect(await left('footer span')).toBe(await left('h1'));
  expect((await view.goto(`${url}/projects/default`))?.url()).toContain('/sign-in');
  await stranger.close();
}

async function trouble(page: Page, receiver: HttpReceiver, soon: (text: string) => Promise<void>): Promise<void> {
  await page.goto('/projects/default');
  await soon('1 of 2 jobs is in trouble');
  await receiver.arrived(2);
  expect(eventOf(receiver, 1)).toMatchObject({
    type: 'incident.opened',
    incident: { kind: 'missing' },
    job: { slug: 'invoices' },
  });
  await page.getByRole('button', { name: 'Acknowledge: Invoices' }).click();
  await page.getByText('acknowledged').first().waitFor();
}

/** One was done by hand, the other one is not going to be. */
async function settle(page: Page): Promise<void> {
  await page.goto('/projects/default/jobs/invoices');
  await page.getByRole('heading', { name: 'Owed 2' }).waitFor();
  await page.locator('table:has(caption:text("Owed")) th a').first().click();
  await page.getByLabel('Done').check();
  await page.getByLabel('Note').fill('I ran it myself.');
  await page.getByRole('button', { name: 'Settle' }).click();
  await page.getByText('I ran it myself.').waitFor();
  await page.goto('/projects/default/jobs/invoices');
  await page.getByRole('heading', { name: 'Owed 1' }).waitFor();
  await page.getByRole('button', { name: 'Skip:' }).click();
  await expect.poll(() => page.getByRole('heading', { name: 'Owed' }).count(), { timeout: LONGEST_MS }).toBe(0);
  await page.goto('/projects/default');
  await page.getByText('None of 2 jobs is in trouble').waitFor();
}

async function outAndIn(page: Page): Promise<void> {
  await page.goto('/account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await page.goto('/projects/default/jobs/invoices');
  await page.getByLabel('E-mail').fill(ADA.email);
  await page.getByLabel('Password').fill('a guess of mine');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The e-mail address or the password is wrong.').waitFor();
  expect(await page.getByLabel('E-mail').inputValue()).toBe(ADA.email);
  await page.getByLabel('Password').fill(ADA.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/projects/default/jobs/invoices');
}

/** The first event of a message that the receiver got. */
const eventOf = ({ requests }: HttpReceiver, index: number): object =>
  JSON.parse(requests[index]?.body ?? '').events[0];
