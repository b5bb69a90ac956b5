import { afterAll, beforeAll, expect, test } from 'vitest';
import { asTable, type Block, blocksOf, readPage } from './page.ts';
import { type PageService, startPageService } from './page-service.ts';

/**
 * docs/missed-runs.md is run from top to bottom, as its reader would: every block is a step. What stands after the language
 * of a block says when it is run, and what it shows.
 */
const PAGE = 'docs/missed-runs.md';
const blocks = blocksOf(readPage(PAGE));

let service: PageService;
let setup = '';
let printed = '';

beforeAll(async () => {
  service = await startPageService('2026-03-02T11:00:00Z');
});
afterAll(() => service.stop());

test.each(blocks.map((block) => ({ block, name: `${PAGE}:${block.line} ${headOf(block)}` })))(
  '$name',
  async ({ block }) => {
    const away = after(block, 'away', 2);
    if (away) await service.away(away[0] ?? '', away[1] ?? '');
    const at = after(block, 'at', 1);
    if (at) await service.at(at[0] ?? '');
    if (block.language === 'sh') return run(block);
    if (block.info[0] === 'printed') return expectPrinted(block.text);
    const ledger = after(block, 'ledger', 1);
    if (!ledger) throw new Error('a block of text is a ledger, or what the commands before it printed');
    const [head = [], ...rows] = await ledgerOf(ledger[0] ?? '', block.text);
    const first = Number(after(block, 'first', 1)?.[0] ?? rows.length);
    const last = Number(after(block, 'last', 1)?.[0] ?? rows.length);
    expect(asTable([head, ...rows.slice(0, first).slice(-last)])).toBe(block.text);
  },
);

test('the page shows each policy and every job of its table', () => {
  const definitions = blocks.flatMap(({ text }) => /-d '(\{.*\})'/s.exec(text)?.[1] ?? []);
  const policies = definitions.map((json) => (JSON.parse(json) as { missed_runs: string }).missed_runs);
  expect(policies.toSorted()).toEqual(['catch_up', 'catch_up', 'coalesce', 'coalesce', 'skip', 'skip']);
});

async function run(block: Block): Promise<void> {
  if (block.info[0] === 'setup') setup = `${block.text}\n`;
  const { exitCode, out, err } = await service.shell(setup + block.text);
  expect({ exitCode, err }, out).toEqual({ exitCode: 0, err: '' });
  printed = out;
}

/** A last line of `…` leaves the rest out. */
function expectPrinted(text: string): void {
  const shown = text.replace(/\n…$/, '\n');
  const isWhole = shown === text;
  expect(isWhole ? printed : printed.slice(0, shown.length)).toBe(isWhole ? `${text}\n` : shown);
}

/** The ledger from its oldest entry on, with the columns that the page shows. */
async function ledgerOf(slug: string, shown: string): Promise<readonly (readonly string[])[]> {
  const { url, apiKey } = service;
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${url}/api/v1/jobs/${slug}/occurrences?limit=500`, { headers });
  const { occurrences } = (await response.json()) as { occurrences: readonly Occurrence[] };
  const columns = shown.split('\n')[0]?.trim().split(/ {2,}/) ?? [];
  return [columns, ...occurrences.toReversed().map((row) => columns.map((column) => cell(row, column)))];
}

type Occurrence = Readonly<Record<string, unknown>> & { readonly owed: boolean };

function cell(row: Occurrence, column: string): string {
  if (column === 'owed') return row.owed ? 'owed' : '';
  return String(row[column.replace(' ', '_')] ?? '');
}

/** The words after this one in what stands after the language. */
function after({ info }: Block, word: string, count: number): readonly string[] | null {
  const i = info.indexOf(word);
  return i === -1 ? null : info.slice(i + 1, i + 1 + count);
}

function headOf({ language, info, text }: Block): string {
  return language === 'sh' ? (text.split('\n')[0] ?? '') : info.join(' ');
}
