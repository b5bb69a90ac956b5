import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A fenced block of a page. `info` is what stands after the language: no reader sees it, and the test that runs the page
 * takes its orders from it.
 */
export type Block = {
  readonly language: string;
  readonly info: readonly string[];
  readonly text: string;
  /** Of its first line in the page. */
  readonly line: number;
};

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FENCE = /^```(?<language>\w*) *(?<info>.*)$/;

/** The text of a page, by its path from the root of the project. */
export function readPage(path: string): string {
  return readFileSync(`${ROOT}/${path}`, 'utf8');
}

/** The fenced blocks of a page, in their order. Throws on a fence that is never closed. */
export function blocksOf(page: string): readonly Block[] {
  const lines = page.split('\n');
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i += 1) {
    const fence = FENCE.exec(lines[i] ?? '')?.groups;
    if (!fence) continue;
    const end = lines.indexOf('```', i + 1);
    if (end === -1) throw new Error(`the block that begins in line ${i + 1} has no end`);
    const { language = '', info = '' } = fence;
    blocks.push({
      language,
      info: info.split(' ').filter(Boolean),
      text: lines.slice(i + 1, end).join('\n'),
      line: i + 2,
    });
    i = end;
  }
  return blocks;
}

/** Rows as a page prints them: columns padded, two spaces between them, none at the end of a line. */
export function asTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
