import type { Instant, Result } from './time.ts';
import type { LocalTime, Zone } from './zone.ts';

export type KeySpelling =
  | { readonly kind: 'instant'; readonly at: Instant }
  | { readonly kind: 'local'; readonly local: LocalTime }
  | { readonly kind: 'date'; readonly date: LocalTime };
export type KeyCandidates = { readonly instants: readonly Instant[] } | { readonly after: Instant; readonly until: Instant };
export declare function formatKey(at: Instant, zone: Zone): string;
export declare function parseKey(text: string): Result<KeySpelling>;
export declare function keyCandidates(spelling: KeySpelling, zone: Zone): KeyCandidates;
