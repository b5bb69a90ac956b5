import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClockStory, startStory } from '../support/clock-story.ts';

let story: ClockStory;
beforeEach(async () => {
  story = await startStory('2026-03-02T12:00:30Z');
});
afterEach(() => story.stop());

const texts = async (): Promise<readonly string[]> =>
  (await story.rows<{ text: string }>(`select text from notices where kind = 'operator' order by id`)).map(
    ({ text }) => text.split(' Runs due then')[0] ?? '',
  );

test('a notice of a silence says as of when, so that it is true whenever it is read, and its end is told', async () => {
  await story.live(60);
  story.dead(45);
  await story.replica.evaluator.tick();
  story.dead(60);
  await story.replica.evaluator.tick();
  expect(await texts()).toEqual(['At 2026-03-02T12:02:15Z Rollcall had heard no pings since 2026-03-02T12:01:30Z.']);
  await story.look();
  expect((await texts()).slice(1)).toEqual([
    'Pings are heard again. Rollcall heard no pings from 2026-03-02T12:01:30Z to 2026-03-02T12:03:15Z.',
  ]);
});

test('a silence that nobody was told of while it lasted is told once, when it is over', async () => {
  await story.live(60);
  story.dead(45);
  await story.look();
  expect(await texts()).toEqual(['Rollcall heard no pings from 2026-03-02T12:01:30Z to 2026-03-02T12:02:15Z.']);
});
