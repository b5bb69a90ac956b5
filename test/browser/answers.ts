import type { Page } from 'playwright-core';

export type FormAnswer = {
  readonly by: 'member' | 'stranger';
  readonly at: string;
  /** What somebody does there. */
  readonly act: (page: Page) => Promise<void>;
  /** What the page says then. */
  readonly says: string | RegExp;
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
    says: 'The e-mail address or the password is wrong.',
  },
  'status-password-refused': {
    by: 'stranger',
    at: '/status/inside',
    act: send('Show the page', { password: 'a guess of mine' }),
    says: 'This password opens no page here.',
  },
  'dashboard-bulk-refused': {
    by: 'member',
    at: P,
    act: async (page) => {
      await page.locator('#bulk-panel summary').click();
      await send('Put under maintenance', { until: '2026-10-26T08:00' })(page);
    },
    says: /tick|job|past/i,
  },
  'editor-refused': {
    by: 'member',
    at: `${P}/jobs/new`,
    act: send('Create the job', { name: 'Rates', lines: '61 2 * * *', zone: 'CST', grace: 'soon' }),
    says: 'Nothing is saved yet',
  },
  'editor-replayed': {
    by: 'member',
    at: `${P}/jobs/nightly-backup/edit`,
    act: send('Replay the last 30 days'),
    says: /would have/,
  },
  'channel-refused': {
    by: 'member',
    at: `${P}/channels/new?kind=webhook`,
    act: send(/add/i, { slug: 'hook', url: 'nowhere', secret: 'x' }),
    says: 'url:',
  },
  'maintenance-refused': {
    by: 'member',
    at: `${P}/maintenance/new`,
    act: send('Create the window', { name: 'Network', duration: 'long' }),
    says: /duration/i,
  },
  'status-page-refused': {
    by: 'member',
    at: `${P}/status-pages/new`,
    act: send('Create the page', { slug: 'acme', shows: 'no-such-job' }),
    says: /no-such-job|taken|title/i,
  },
  'report-refused': { by: 'member', at: `${P}/reports/new`, act: send(/add/i, { slug: 'a b' }), says: /slug/i },
  'settle-refused': {
    by: 'member',
    at: `${P}/jobs/invoices/occurrences/${encodeURIComponent('2026-10-26T04:00+01:00')}`,
    act: send('Settle'),
    says: 'Say which of the two it is.',
  },
  'key-made': { by: 'member', at: `${P}/settings/keys`, act: send('Make the key', { name: 'ci' }), says: 'ci' },
  'invitation-made': {
    by: 'member',
    at: `${P}/settings/members`,
    act: send('Make the invitation', { email: 'grace@example.org' }),
    says: /\/invitations\//,
  },
  'second-factor': {
    by: 'member',
    at: '/account',
    act: (page) => send('Set it up')(page),
    says: /password/i,
  },
  'project-made': {
    by: 'member',
    at: '/projects',
    act: send('Make the project', { name: 'Another', slug: 'another' }),
    says: '/ping/',
  },
};
