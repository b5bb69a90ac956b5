import type { CatchUp } from '../../engine/catch-up.ts';
import type { Changes } from '../../engine/changes.ts';
import type { Claims } from '../../engine/claims.ts';
import type { Maintenance } from '../../engine/maintenance.ts';
import type { ChannelContext } from '../../notify/channel.ts';
import type { Database } from '../../store/database.ts';
import type { ReadMaintenance } from '../../store/withholding.ts';
import type { Zones } from '../../zones.ts';

/** What the API works with. */
export type ApiDeps = {
  readonly database: Database;
  readonly zones: Zones;
  readonly changes: Changes;
  readonly claims: Claims;
  readonly catchUp: CatchUp;
  readonly maintenance: Maintenance;
  /** Without a slash at its end. */
  readonly publicUrl: string;
  readonly channelContext: ChannelContext;
  /** Which jobs are in maintenance; left out: none ever is. */
  readonly readMaintenance?: ReadMaintenance;
  readonly log: { error(fields: object, message: string): void };
};
