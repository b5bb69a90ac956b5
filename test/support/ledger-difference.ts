import { formatInstant } from '../../src/core/time.ts';
import type { LedgerView } from './history.ts';

/** The first difference between two ledgers in one line, such as `incidents[0].events[1].at: 10:05 / 10:06`, or null. */
export function explainDifference(a: LedgerView, b: LedgerView): string | null {
  return difference(a, b, '');
}

function difference(a: unknown, b: unknown, path: string): string | null {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const found = difference(a[i], b[i], `${path}[${nameOf(a[i] ?? b[i], i)}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isRecord(a) && isRecord(b)) {
    for (const field of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = difference(a[field], b[field], path === '' ? field : `${path}.${field}`);
      if (found !== null) return found;
    }
    return null;
  }
  return Object.is(a, b) ? null : `${path}: ${inWords(a)} / ${inWords(b)}`;
}

/** Occurrences and members are named by their instant, incidents also by their kind. */
function nameOf(item: unknown, index: number): string {
  if (!isRecord(item)) return String(index);
  const { scheduledFor, kind, matchedBy } = item;
  if (typeof kind === 'string') return `${index} ${kind}`;
  return typeof scheduledFor === 'number' && matchedBy === undefined ? inWords(scheduledFor) : String(index);
}

function inWords(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number' && value > 1_000_000_000) return formatInstant(value);
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'number' ? inWords(part) : part));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
