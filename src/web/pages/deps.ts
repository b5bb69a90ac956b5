import type { Hono } from 'hono';
import type { VersionCache } from '../../engine/working-set.ts';
import type { ApiDeps } from '../api/deps.ts';
import type { ClientAddress } from '../client-address.ts';
import type { ReadHealth } from '../health.ts';
import type { Assets } from './assets.ts';
import type { ReadViewer } from './viewer.ts';

/** What pages work with. */
export type PageDeps = Pick<
  ApiDeps,
  'database' | 'zones' | 'catchUp' | 'readMaintenance' | 'log' | 'publicUrl' | 'channelContext'
> & {
  readonly assets: Assets;
  readonly api: Hono;
  readonly readViewer: ReadViewer;
  readonly readHealth: ReadHealth;
  readonly versions: VersionCache;
  /** BLIND_SETTLE. */
  readonly settleMs: number;
  readonly clientAddress: ClientAddress;
  /** The process ends, and open streams must not keep it. */
  readonly stopping?: AbortSignal;
};
