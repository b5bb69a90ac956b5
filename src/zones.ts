import type { Result } from './core/time.ts';
import type { Zone } from './core/zone.ts';

export type Zones = {
  readonly version: string;
  readonly source: 'os' | 'node';
  get(name: string): Result<Zone>;
};
export declare function loadZones(options?: { readonly directory?: string }): Zones;
