import type { Page } from 'playwright-core';
import { ADA } from './owner.ts';

export type FormAnswer = {
  readonly by: 'member' | 'stranger';
  readonly at: string;
  /** What somebody does there. */
  readonly act: (page: Page) => Promise<void>;
  /** What is found on the page then, and was not there before. */
  readonly shows: string;
};

const P = '/projects/default';

/** Sends the form with whatever is in it, as a browser does that checks nothing by itself. */
const send =
  (button: string | RegExp, fields: Readonly<Record<string, string>> = {}) =>
  async (page: Page): Promise<void> => {
    await page.evaluate('for (const form of document.forms) form.noValidate = true');
    for (const [name, text] of Object.entries(fields)) await page.locator(`main [name=${name}]`).first().fill(text);
    await page.getByRole('main').getByRole('button', { name: button }).first().click();
  };

/** Pages that have no address of their own, by the name of their screenshot: what comes back when a form was sent. */
export const ANSWERS: Readonly<Record<string, FormAnswer>> = {
  'sign-in-refused': {
    by: 'stranger',
    at: '/sign-in',
    act: send('Sign in', { email: 'ada@example.org', password: 'a guess of mine' }),
    shows: 'text=The e-mail address or the password is wrong.',
  },
  'status-password-refused': {
    by: 'stranger',
    at: '/status/inside',
    act: send('Show the page', { password: 'a guess of mine' }),
    shows: 'text=This password opens no page here.',
  },
  'dashboard-bulk-refused': {
    by: 'member',
    at: P,
    act: async (page) => {
      await page.locator('#bulk-panel summary').click();
      await send('Put under maintenance', { until: '2026-10-26T08:00' })(page);
    },
    shows: '#bulk-panel :is(.trouble, .wrong)',
  },
  'editor-refused': {
    by: 'member',
    at: `${P}/jobs/+new`,
    act: send('Create the job', { name: 'Rates', lines: '61 2 * * *', zone: 'CST', grace: 'soon' }),
    shows: '[name=grace][aria-invalid=true]',
  },
  'editor-replayed': {
    by: 'member',
    at: `${P}/jobs/nightly-backup/edit`,
    act: send('Replay the last 30 days'),
    shows: '#replay-result > *',
  },
  'channel-refused': {
    by: 'member',
    at: `${P}/channels/+new?kind=webhook`,
    act: send(/add/i, { slug: 'hook', url: 'nowhere', secret: 'x' }),
    shows: '[name=url][aria-invalid=true]',
  },
  'maintenance-refused': {
    by: 'member',
    at: `${P}/maintenance/+new`,
    act: send('Create the window', { name: 'Network', duration: 'long' }),
    shows: '[name=duration][aria-invalid=true]',
  },
  'status-page-refused': {
    by: 'member',
    at: `${P}/status-pages/+new`,
    act: send('Create the page', { slug: 'acme', shows: 'no-such-job' }),
    shows: '[name=slug][aria-invalid=true]',
  },
  'report-refused': {
    by: 'member',
    at: `${P}/reports/+new`,
    act: send(/add/i, { slug: 'a b' }),
    shows: '[name=slug][aria-invalid=true]',
  },
  'settle-refused': {
    by: 'member',
    at: `${P}/jobs/invoices/occurrences/${encodeURIComponent('2026-10-26T04:00+01:00')}`,
    act: send('Settle'),
    shows: 'text=Say which of the two it is.',
  },
  'key-made': {
    by: 'member',
    at: `${P}/settings/keys`,
    act: send('Make the key', { name: 'ci' }),
    shows: 'text=Shown this once',
  },
  'invitation-made': {
    by: 'member',
    at: `${P}/settings/members`,
    act: send('Make the invitation', { email: 'grace@example.org' }),
    shows: 'text=/invitations/',
  },
  'second-factor': {
    by: 'member',
    at: '/account',
    act: async (page) => {
      await page.locator('form[action$="/totp/start"] [name=password]').fill(ADA.password);
      await send('Set it up')(page);
    },
    shows: '#totp-secret',
  },
  'second-factor-refused': {
    by: 'member',
    at: '/account',
    act: send('Set it up'),
    shows: 'text=this is not your password',
  },
  'project-made': {
    by: 'member',
    at: '/projects',
    act: send('Make the project', { name: 'Another', slug: 'another' }),
    shows: 'text=/ping/',
  },
};
