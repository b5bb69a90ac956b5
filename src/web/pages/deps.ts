import type { Hono } from 'hono';
import type { ApiDeps } from '../api/deps.ts';
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
};
