import { OpenAPIHono } from '@hono/zod-openapi';
import type { Hono } from 'hono';
import type { BlankEnv } from 'hono/types';
import { onError, onNotFound } from '../problem.ts';
import { acknowledgeEndpoints } from './acknowledging.ts';
import { auditEndpoints } from './audit.ts';
import { backlogEndpoints } from './backlog.ts';
import { channelEndpoints } from './channels.ts';
import { claimEndpoints } from './claims.ts';
import { clockEndpoints } from './clock.ts';
import { deliveryLogEndpoints } from './delivery-log.ts';
import type { ApiDeps } from './deps.ts';
import { addEndpoint } from './endpoint.ts';
import { incidentEndpoints } from './incidents.ts';
import { pingEndpoints } from './job-pings.ts';
import { jobEndpoints } from './jobs.ts';
import { maintenanceEndpoints } from './maintenance.ts';
import { occurrenceEndpoints } from './occurrences.ts';
import { owedEndpoints } from './owed.ts';
import { previewEndpoints } from './preview.ts';
import { reportEndpoints } from './reports.ts';
import { routingEndpoints } from './routing.ts';
import { statusPageEndpoints } from './status-pages.ts';

export type { ApiDeps } from './deps.ts';

const INFO = {
  title: 'Rollcall API',
  version: '1',
  description:
    'JSON in snake_case; instants are RFC 3339 in UTC; intervals are (after, until]; a list is {<plural>, next_cursor}. Errors are application/problem+json with a detail, and with errors: [{path, message}] where fields are wrong. Send Authorization: Bearer KEY; the key names the project.',
};

/** The API of DESIGN section 11, to be mounted at /api/v1. It never reads the environment and never listens. */
export function createApi(deps: ApiDeps): Hono {
  const api = new OpenAPIHono<BlankEnv>();
  api.onError(onError(deps.log));
  api.notFound(onNotFound(api));
  const endpoints = [
    ...jobEndpoints(deps),
    ...occurrenceEndpoints(deps),
    ...owedEndpoints(deps),
    ...claimEndpoints(deps),
    ...backlogEndpoints(deps),
    ...pingEndpoints(deps),
    ...incidentEndpoints(deps),
    ...acknowledgeEndpoints(deps),
    ...channelEndpoints(deps),
    ...deliveryLogEndpoints(deps),
    ...routingEndpoints(deps),
    ...maintenanceEndpoints(deps),
    ...reportEndpoints(deps),
    ...statusPageEndpoints(deps),
    ...previewEndpoints(deps),
    ...auditEndpoints(deps),
    ...clockEndpoints(deps),
  ];
  for (const endpoint of endpoints) addEndpoint(api, endpoint, deps.database);
  addDocument(api);
  return api;
}

/** The document needs no key: it says nothing that the source does not. */
function addDocument(api: OpenAPIHono<BlankEnv>): void {
  api.openAPIRegistry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  const document = api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/api/v1' }],
  });
  api.get('/openapi.json', (c) => c.json(document));
}
