import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ADA, auditOf, type Browser, type PeopleSite, startPeople, welcomeAda } from './people-site.ts';

let site: PeopleSite;
let ada: Browser;
let secret: string;
let backupCodes: readonly string[];

beforeAll(async () => {
  site = await startPeople();
  ada = await welcomeAda(site);
});
afterAll(() => site.drop());

/** Switches the second factor on as a person does, from the page alone. */
beforeEach(async () => {
  await site.database.transaction(async ({ sql }) => {
    await sql`delete from two_factors`;
    await sql`delete from rate_limits`;
    await sql`update users set two_factor_enabled = false`;
  });
  ada = site.browser();
  await ada.send('/sign-in', { ...ADA, to: '/' });
  const { text } = await ada.send('/account/totp/start', { password: ADA.password });
  secret = /id="totp-secret">\s*([A-Z2-7]+)/.exec(text)?.[1] ?? '';
  backupCodes = [...text.matchAll(/\b\w{5}-\w{5}\b/g)].map(([code]) => code);
  expect(text).toContain('<svg class="qr"');
  const done = await ada.send('/account/totp/confirm', { code: codeAt(0) });
  expect(done.location).toBe('/account');
});

/**
 * RFC 6238 over the secret that the page shows: `steps` half minutes from now. The next one is used, which stays right when
 * the half minute ends meanwhile, and is not the one that the setting up has used.
 */
function codeAt(steps: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** The first half of a sign-in: the password was right, and the code is asked for. */
async function atTheCode(): Promise<Browser> {
  const browser = site.browser();
  const answer = await browser.send('/sign-in', { ...ADA, to: '/account' });
  expect(answer.location).toBe('/sign-in/code?to=%2Faccount');
  return browser;
}

const OVER = '/sign-in?to=%2Faccount&error=second_factor_over';
const enter = (browser: Browser, code: string) => browser.send('/sign-in/code', { code, to: '/account' });

test('the password alone opens nothing, and the code opens what was asked for', async () => {
  const browser = await atTheCode();
  expect((await browser.open('/account')).location).toBe('/sign-in?to=/account');
  expect((await browser.open('/sign-in/code?to=/account')).text).toContain('name="code"');
  const code = codeAt(1);
  expect((await enter(browser, ` ${code.slice(0, 3)} ${code.slice(3)} `)).location).toBe('/account');
  expect((await browser.open('/account')).text).toContain('On: after the password');
  const audit = await auditOf(site);
  expect(audit[0]).toBe('ada@example.org signed in by code');
  expect(audit).toContain('ada@example.org switched the second factor on');
});

test('a code opens the door once: whoever read it over the shoulder stays outside', async () => {
  const code = codeAt(1);
  expect((await enter(await atTheCode(), code)).location).toBe('/account');
  const thief = await atTheCode();
  const answer = await enter(thief, code);
  expect(answer.status).toBe(401);
  expect((await thief.open('/account')).status).toBe(303);
});

test('whoever comes with a code that they used already stays at the code, and gets in with the next one', async () => {
  const code = codeAt(0);
  await site.database.transaction(({ sql }) => sql`delete from rate_limits`);
  expect((await enter(await atTheCode(), code)).location).toBe('/account');
  const again = await atTheCode();
  const used = await enter(again, code);
  expect([used.status, used.text.includes('name="code"')]).toEqual([401, true]);
  expect(used.text).toMatch(/role="alert">\s*This code was used already: wait for the next one\./);
  expect((await enter(again, codeAt(1))).location).toBe('/account');
});

test('a sign-in whose time is over is refused as such, and not in green', async () => {
  const browser = site.browser();
  const { location } = await enter(browser, codeAt(1));
  expect(browser.cookies.has('flash')).toBe(false);
  const page = await browser.open(location ?? '');
  expect(page.text).toMatch(/role="alert">\s*Sign in again: the time for the code is over/);
  expect(page.text).toContain('name="to" value="/account"');
});

test('of two who come with one code at the same moment, one gets in', async () => {
  const browsers = [await atTheCode(), await atTheCode()];
  const code = codeAt(1);
  const answers = await Promise.all(browsers.map((browser) => enter(browser, code)));
  expect(answers.map(({ location }) => location).sort()).toEqual(['/account', null]);
});

test('a code without the password before it opens nothing', async () => {
  const browser = site.browser();
  expect((await enter(browser, codeAt(1))).location).toBe(OVER);
  expect((await browser.open('/account')).status).toBe(303);
});

test('five wrong codes end the sign-in, and ten in a row lock the second factor for a while', async () => {
  const wrong = () => String((Number(codeAt(1)) + 500_000) % 1_000_000).padStart(6, '0');
  const first = await atTheCode();
  for (let n = 0; n < 5; n += 1) expect((await enter(first, wrong())).status).toBe(401);
  expect((await enter(first, codeAt(1))).location).toBe(OVER);
  const second = await atTheCode();
  for (let n = 0; n < 5; n += 1) expect((await enter(second, wrong())).status).toBe(401);
  // The right code at last, and from another address.
  const third = await atTheCode();
  expect((await enter(third, codeAt(1))).status).toBe(429);
  expect((await third.open('/account')).status).toBe(303);
});

test('a backup code opens the door once', async () => {
  expect(backupCodes).toHaveLength(10);
  const code = backupCodes[0] ?? '';
  expect((await enter(await atTheCode(), code)).location).toBe('/account');
  expect((await auditOf(site))[0]).toBe('ada@example.org signed in by backup code');
  expect((await enter(await atTheCode(), code)).status).toBe(401);
  expect((await enter(await atTheCode(), backupCodes[1] ?? '')).location).toBe('/account');
});

test('new backup codes and switching off ask for the password', async () => {
  const refused = await ada.send('/account/totp/codes', { password: 'not the password' });
  expect([refused.status, refused.text.includes('this is not your password')]).toEqual([400, true]);
  const { text } = await ada.send('/account/totp/codes', { password: ADA.password });
  const fresh = /\b\w{5}-\w{5}\b/.exec(text)?.[0] ?? '';
  expect((await enter(await atTheCode(), backupCodes[0] ?? '')).status).toBe(401);
  expect((await enter(await atTheCode(), fresh)).location).toBe('/account');
  expect((await ada.send('/account/totp/off', { password: 'not the password' })).status).toBe(400);
  expect((await ada.send('/account/totp/off', { password: ADA.password })).location).toBe('/account');
  expect((await site.browser().send('/sign-in', { ...ADA, to: '/account' })).location).toBe('/account');
});
