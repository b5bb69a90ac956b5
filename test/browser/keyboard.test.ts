import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { tabTo } from './keys.ts';
import { complaints, makeOwner } from './owner.ts';
import { BEGINNING, fillSite } from './seed.ts';
import { type SeededSite, startSeededSite } from './seeded-site.ts';

let site: SeededSite;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  [site, browser] = await Promise.all([startSeededSite(BEGINNING, fillSite), launchBrowser()]);
  const context = await browser.newContext({ baseURL: site.url, viewport: { width: 1280, height: 600 } });
  page = await context.newPage();
  await makeOwner(page, site.welcome);
});
afterAll(async () => {
  await browser?.close();
  await site?.drop();
});

const focused = (property: string) => page.evaluate(`document.activeElement.${property}`);

test('the first Tab offers a way past the navigation, and it leads there', async () => {
  await page.goto('/projects/default');
  await page.keyboard.press('Tab');
  expect(await focused('className')).toBe('skip-link');
  expect(await page.locator('.skip-link').isVisible()).toBe(true);
  const box = await page.locator('.skip-link').boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect(box?.y).toBeGreaterThanOrEqual(0);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(`document.querySelector('main').contains(document.activeElement)`)).toBe(true);
});

test('a job of the list is reached and opened', async () => {
  await page.goto('/projects/default');
  await tabTo(page, '#job-invoices a.name');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/invoices');
});

test('what the list is told meanwhile moves neither the focus nor what was ticked, typed or opened', async () => {
  const complained = complaints(page);
  await page.goto('/projects/default');
  await page.locator('[name=q]').fill('half a wor');
  await page.locator('#job-upgrade [name=job]').check();
  await page.locator('#bulk-panel summary').click();
  await page.locator('[name=reason]').fill('disk');
  await tabTo(page, '#job-restock a.name');
  const before = (await page.evaluate('scrollY')) as number;
  expect(await page.locator('#job-digest .badge').first().textContent()).toContain('down');

  await site.t.at('2026-10-26T09:12:00Z');
  await site.t.ping('digest', 'success');

  await page.locator('#job-digest .badge.up').waitFor();
  expect(await focused(`closest('tr').id`)).toBe('job-restock');
  expect(await page.evaluate('scrollY')).toBe(before);
  expect(await page.locator('#job-upgrade [name=job]').isChecked()).toBe(true);
  expect(await page.locator('#bulk-panel').getAttribute('open')).not.toBeNull();
  expect(await page.locator('[name=reason]').inputValue()).toBe('disk');
  expect(await page.locator('[name=q]').inputValue()).toBe('half a wor');
  expect(complained).toEqual([]);
});
