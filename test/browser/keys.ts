import type { Page } from 'playwright-core';

const MOST = 150;

/** Presses Tab until the focus is on what the selector finds; more often than a person would: there is no way there. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let pressed = 0; pressed < MOST; pressed += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
  }
  throw new Error(`${MOST} times Tab never came to ${selector}`);
}
