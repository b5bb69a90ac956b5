import { describe, expect, test } from 'vitest';
import type { Report } from '../../src/core/report.ts';
import { reportMail } from '../../src/notify/report-mail.ts';
import { channelContext } from '../support/messages.ts';
import { sampleReport, tally } from '../support/reports.ts';

const foot = { to: 'boss@example.org', unsubscribeUrl: 'https://rollcall.example.org/unsubscribe/abc' };
const mailOf = (changes: Partial<Report> = {}, footing: Parameters<typeof reportMail>[2] = foot) =>
  reportMail(sampleReport(changes), channelContext(), footing);

/** The words of the HTML part, as a mail program shows them. */
const shown = (html: string): string =>
  html
    .replace(/^[\s\S]*<\/style>/, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&nbsp;/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ');

test('the subject and the first line each say the most important', () => {
  const { subject, text } = mailOf();
  expect(subject).toBe('Billing platform, October 2026: 99.5 % on time (12,210 of 12,265)');
  expect(text.split('\n')[0]).toBe('Billing platform, October 2026: 99.5 % on time');
});

test('text and HTML say the same, and markup in a name is text', () => {
  const { text, html } = mailOf();
  const words = shown(html).toLowerCase().replace(/\s/g, '');
  for (const line of text
    .replace(/\nNo more of these.*/, '')
    .split('\n')
    .slice(1)) {
    // The figure and the name of a row are cells of their own.
    for (const part of line.trim().split(/ {2,}|: |, as of /)) {
      expect(words, part).toContain(part.toLowerCase().replace(/\s/g, ''));
    }
  }
  expect(html).toContain('Invoice archive to the tax office &lt;EU &amp; UK&gt;');
});

test('it shows without pictures and scripts, and Gmail keeps its style sheet', () => {
  const { html } = mailOf();
  expect(html).not.toMatch(/<img|<script|<link|url\(/);
  expect(/<style>([\s\S]*)<\/style>/.exec(html)?.[1]?.length).toBeLessThan(8192);
  expect(html.length).toBeLessThan(100_000);
});

test('every job of a big report fits into what Gmail shows', () => {
  const [line] = sampleReport().worst_jobs;
  const [owed] = sampleReport().owed;
  const [edit] = sampleReport().schedule_edits;
  if (!line || !owed || !edit) throw new Error('the sample is empty');
  const { html } = mailOf({
    worst_jobs: Array.from({ length: 10 }, () => ({ ...line, job: 'x'.repeat(100), name: 'y'.repeat(200) })),
    owed: Array.from({ length: 100 }, () => ({ ...owed, job: 'x'.repeat(100) })),
    schedule_edits: Array.from({ length: 50 }, () => ({ ...edit, job: 'x'.repeat(100) })),
    owed_jobs: 2000,
    schedule_edit_count: 51,
  });
  expect(shown(html)).toContain('And 1,975 more jobs.');
  expect(shown(html)).toContain('And 26 more edits.');
  expect(html.length).toBeLessThan(102_000);
});

describe('a month in which nothing happened', () => {
  const quiet: Partial<Report> = {
    occurrences: tally({ on_time: 31 }),
    before: { name: '2026-09', occurrences: null },
    jobs: { total: 1, in_trouble: 0, well: 1, without_data: 0 },
    worst_jobs: [],
    owed: [],
    owed_jobs: 0,
    schedule_edits: [],
    schedule_edit_count: 0,
    incidents: { opened: {}, still_open: 0, longest: null },
    clock_changes: [],
    unreported: null,
  };

  test('says so in every section', () => {
    expect(mailOf(quiet, { ...foot, unsubscribeUrl: null }).text).toBe(
      [
        'Billing platform, October 2026: 100 % on time',
        '31 of 31 runs, no data in Sep 2026: nothing was late, failed or missed',
        '2026-10-01 00:00 +02:00 to 2026-11-01 00:00 +01:00 (Europe/Berlin), as of 2026-11-01 00:15 +01:00',
        '',
        'JOBS',
        'Of 1 job everything was on time.',
        '',
        'OWED NOW',
        'Nothing is owed.',
        '',
        'INCIDENTS',
        'None was opened.',
        '',
        'SCHEDULE EDITS',
        'None.',
        '',
        'CLOCK CHANGES TO COME',
        'None in the next 35 days.',
        '',
        'On time: the share of all due runs whose outcome is known. Whatever was late, failed, missed, not completed or ' +
          'covered by a later run was not on time. Skipped and unknown runs do not count. A job counts from its creation.',
        '',
        'Rollcall: https://rollcall.example.org/projects/default/reports/monthly',
        '',
      ].join('\n'),
    );
  });

  test('and one without a job has no data, not 100 %', () => {
    const none = { occurrences: tally({}), jobs: { total: 0, in_trouble: 0, well: 0, without_data: 0 } };
    const { subject, text } = mailOf({ ...quiet, ...none });
    expect(subject).toBe('Billing platform, October 2026: nothing to report');
    expect(text).toContain('There was no job.');
    expect(text).not.toContain('%');
  });
});
