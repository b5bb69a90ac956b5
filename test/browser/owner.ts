import type { Page } from 'playwright-core';

export const ADA = { name: 'Ada Marsh', email: 'ada@example.org', password: 'correct horse battery' };

/** Makes the owner's account by the one-time link; ends on the dashboard. */
export async function makeOwner(page: Page, welcome: string): Promise<void> {
  await page.goto(welcome);
  await page.getByLabel('Name').fill(ADA.name);
  await page.getByLabel('E-mail').fill(ADA.email);
  await page.getByLabel('Password').fill(ADA.password);
  await page.locator('main button[type=submit]').click();
  await page.waitForURL('**/projects/default');
}

/** What the browser complains of on this page: errors of scripts, and what the policy of the page forbade. */
export function complaints(page: Page): readonly string[] {
  const said: string[] = [];
  page.on('console', (message) => {
    // That a form was refused, or a page is not there, is no fault of the page.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAnswer) said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(error.message));
  return said;
}
