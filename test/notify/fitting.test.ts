import { expect, test } from 'vitest';
import type { BatchEvent } from '../../src/notify/channel.ts';
import { discordMessage, escapeDiscord } from '../../src/notify/discord.ts';
import { fitted, type Piece } from '../../src/notify/fitting.ts';
import { ntfyMessage } from '../../src/notify/ntfy.ts';
import { teamsMessage } from '../../src/notify/teams.ts';
import { escapeTelegram, telegramText } from '../../src/notify/telegram.ts';
import { wording } from '../../src/notify/wording.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';

const context = channelContext();
const wordsOf = (...events: readonly BatchEvent[]) => wording(batchOf(...events), context);
const textOf = (piece: Piece): string => ('label' in piece ? `${piece.label}: ${piece.text}` : piece.text);
const on = (room: number, ...events: readonly BatchEvent[]) =>
  fitted(wordsOf(...events), { write: textOf, size: (text) => text.length, room });

const jobs = (count: number, changes: object = {}) =>
  Array.from({ length: count }, (_, i) =>
    incidentEvent({ id: i + 1, job: { slug: `job-${i}`, name: `job-${i}` }, ...changes }),
  );

test('never takes more room than there is, whatever there is to say', () => {
  const output = 'an error\n'.repeat(200);
  const hundred = Array.from({ length: 100 }, (_, i) => ({ ...secondPass, scheduledFor: i * 1000 }));
  for (const size of [1, 2, 3, 10, 400]) {
    const events = jobs(size, { kind: 'failed', occurrences: hundred, facts: { output } });
    for (const room of [0, 50, 300, 1000, 4000, 100_000]) {
      const { written, isShort } = on(room, ...events);
      expect(written.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(room);
      if (room <= 50) expect(isShort).toBe(true);
      if (room === 100_000) expect(isShort).toBe(false);
    }
  }
});

test('titles come first, then names, ends before all, then details', () => {
  const ends = jobs(12, { type: 'incident.resolved' }).map((event, i) => ({
    ...event,
    incident: { ...event.incident, id: 1000 + i },
    job: { ...event.job, slug: `back-${i}` },
  }));
  const { written } = on(1500, ...jobs(300), ...ends);
  expect(written.filter((text) => text.startsWith('job-'))).toHaveLength(10);
  const text = written.join('\n');
  for (const { job } of ends) expect(text).toContain(job.slug);
  expect(text).toMatch(/also missing \(290\): job-\d+, .* and \d+ more/);
});

test('what can be done still follows an output that fills everything', () => {
  const { written } = on(1200, incidentEvent({ kind: 'failed', facts: { output: `${'x'.repeat(1990)}the end` } }));
  expect(written[0]).toMatch(/^…x+the end$/);
  expect(written.join('\n')).toContain('curl -fsS');
});

test('of three at once each has its share', () => {
  const facts = { output: 'y'.repeat(2000) };
  const { written } = on(3000, ...jobs(3, { kind: 'failed', facts }));
  expect(written.filter((text) => /^…y+$/.test(text))).toHaveLength(3);
  expect(written.filter((text) => text.startsWith('What now: '))).toHaveLength(3);
});

test('Discord: the headline is the content, the rest an embed, and text stays text', () => {
  const name = '**a** `b` ~~c~~ ||d|| [e](http://f) <@1> \\';
  const { content, embeds, allowed_mentions: mentions } = discordMessage(wordsOf(incidentEvent({ job: { name } })));
  expect(content).toContain(
    '\\*\\*a\\*\\* \\`b\\` \\~\\~c\\~\\~ \\|\\|d\\|\\| \\[e\\](http://f) \\<@1\\> \\\\ did not run',
  );
  expect(mentions).toEqual({ parse: [] });
  expect(embeds).toEqual([
    { description: expect.stringMatching(/^\*\*Expected by:\*\* .*Rollcall: https/s), color: 0xc62828 },
  ]);
  expect(escapeDiscord('plain-text 2026-10-25 02:30 +01:00')).toBe('plain-text 2026-10-25 02:30 +01:00');
});

test('Discord: backticks in an output do not end its block', () => {
  const { embeds } = discordMessage(wordsOf(incidentEvent({ kind: 'failed', facts: { output: 'a\n```\n@everyone' } })));
  expect(JSON.stringify(embeds)).toContain("```\\na\\n'''\\n@everyone\\n```");
});

test('Telegram: tags are ours, names are text, and nobody is mentioned', () => {
  expect(escapeTelegram('<b>&amp; @all')).toBe('&lt;b&gt;&amp;amp; @\u2060all');
  const text = telegramText(wordsOf(incidentEvent({ kind: 'failed', facts: { output: 'disk </pre><b>full' } })));
  expect(text.split('\n')[0]).toBe('🔴 <b>Nightly billing failed: due 2026-10-25 02:30 +01:00</b>');
  expect(text).toContain('<pre>disk &lt;/pre&gt;&lt;b&gt;full</pre>');
});

test('Teams: one Adaptive Card, its text in runs that read no Markdown, with a button to Rollcall', () => {
  const card = JSON.stringify(teamsMessage(wordsOf(incidentEvent({ job: { name: '**x** [y](http://z)' } }))));
  expect(card).toContain('"text":"🔴 **x** [y](http://z) did not run');
  expect(card).not.toContain('"TextBlock"');
  expect(card).toContain('{"type":"Action.OpenUrl","title":"Rollcall","url":"https://rollcall.example.org/"}');
});

test('ntfy: a problem is louder than its end', () => {
  expect(ntfyMessage(wordsOf(incidentEvent()))).toMatchObject({
    title: 'missing: nightly-billing (2026-10-25 02:30 +01:00)',
    message: expect.stringMatching(/^Nightly billing did not run: due 2026-10-25 02:30 \+01:00\n/),
    priority: 4,
    tags: ['rotating_light'],
  });
  const end = incidentEvent({ type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }] });
  expect(ntfyMessage(wordsOf(end))).toMatchObject({ priority: 3, tags: ['white_check_mark'] });
});
