import { firstCheck } from '../../src/core/ledger.ts';
import { statusOf } from '../../src/core/status.ts';
import type { Instant } from '../../src/core/time.ts';
import type { Tx } from '../../src/store/database.ts';
import { readJobs, readPauses, readVersions } from '../../src/store/jobs.ts';
import { pageOfOccurrences } from '../../src/store/reading.ts';
import type { Zones } from '../../src/zones.ts';
import { clockLedger, clockOccurrences } from '../../src/engine/reading-clock.ts';
import type { History, Input, LedgerView } from './history.ts';
import { uuidOf } from './year-service.ts';

type IncidentView = LedgerView['incidents'][number];
type PingInput = Extract<Input, { type: 'ping' }>;
