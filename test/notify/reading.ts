import { runLines } from '../../src/notify/story.ts';
import type { wording } from '../../src/notify/wording.ts';

type Story = ReturnType<typeof wording>['stories'][number];

/** What stands below the title, a line each. */
export const linesOf = (story: Story | undefined): string[] =>
  (story?.parts ?? []).flatMap((part) => {
    if (part.kind === 'facts') return part.facts.map(({ label, text }) => `${label}: ${text}`);
    if (part.kind === 'advice') return [part.text, ...part.ways.flatMap(({ says, line }) => [says, `$ ${line}`])];
    if (part.kind === 'link') return [`${part.text} at ${part.url}`];
    return part.kind === 'output' ? [`> ${part.text}`] : runLines(part).map((line) => `- ${line}`);
  });

export const textOf = (story: Story | undefined): string => linesOf(story).join('\n');
