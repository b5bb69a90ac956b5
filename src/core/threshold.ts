import { type ThresholdKind, thresholdKinds } from './definition.ts';
import type { Ledger, Row } from './ledger.ts';
import type { IncidentKind } from './message.ts';
import { endedWell } from './occurrence.ts';

const bitOf = (kind: ThresholdKind): number => 1 << thresholdKinds.indexOf(kind);

const asThreshold = (kind: IncidentKind): ThresholdKind | undefined => thresholdKinds.find((known) => known === kind);

/** The kinds an occurrence has counted for, with this one: once, and for good. */
export function countedWith({ counted }: Row, kind: IncidentKind): number {
  const known = asThreshold(kind);
  return known ? counted | bitOf(known) : counted;
}

/**
 * Whether an incident of this kind is told (docs/ledger.md, rule 60): enough of the newest occurrences count for it. The
 * newest ones that may are loaded.
 */
export function isReached(ledger: Ledger, kind: IncidentKind): boolean {
  const known = asThreshold(kind);
  const threshold = known && ledger.settings.alertAfter[known];
  if (!known || !threshold || threshold.count <= 1) return true;
  const bit = bitOf(known);
  const counts = ({ counted }: Row) => (counted & bit) !== 0;
  const said = [...ledger.rows.values()].filter(
    (row) => row.state !== 'skipped' && row.state !== 'unknown' && (counts(row) || endedWell(row.state)),
  );
  said.sort((a, b) => b.scheduledFor - a.scheduledFor);
  return said.slice(0, threshold.of).filter(counts).length >= threshold.count;
}

/** What thresholds look at: the newest `of` occurrences that counted for a kind (its bit), and as many that ended well. */
export const thresholdReach = (alertAfter: Ledger['settings']['alertAfter']): { bit: number; of: number }[] =>
  thresholdKinds.flatMap((kind) => {
    const { of } = alertAfter[kind] ?? {};
    return of === undefined ? [] : [{ bit: bitOf(kind), of }];
  });
