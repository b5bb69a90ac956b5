import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { formatInstant } from '../../core/time.ts';
import { readAudit } from '../../store/audit.ts';
import { auditText } from '../audit-words.ts';
import type { Caller } from './auth.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { LIST_SIZE, limitParameter, numberCursor, pageOf, readQuery } from './query.ts';
import { invalid } from './refusal.ts';
import { listOf, listQuery } from './schemas.ts';

const entrySchema = z
  .strictObject({
    id: z.int(),
    at: z.string().meta({ format: 'date-time' }),
    actor: z.string().describe('The e-mail address of a person, or an API key by its name or its first characters.'),
    action: z.string().describe('What was done, for programs: job.edit, member.role, …'),
    subject: z.string(),
    detail: z.record(z.string(), z.unknown()),
    text: z.string().describe('The same as one sentence.'),
  })
  .openapi('AuditEntry');

/** Who changed what. */
export function auditEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      tag: 'Audit',
      method: 'get',
      path: '/audit',
      id: 'listAudit',
      summary: 'Every change of the project and who made it, newest first',
      query: listQuery(LIST_SIZE),
      answers: {
        200: { description: 'A page of entries.', schema: listOf('entries', entrySchema) },
        400: problemAnswer('A parameter is wrong.'),
      },
      run: (c, caller) => list(deps, c, caller),
    },
  ];
}

async function list({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const before = numberCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const found = await database.transaction((tx) => readAudit(tx, projectId, { before, limit: limit + 1 }));
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => id);
  const entries = page.map((entry) => ({ ...entry, at: formatInstant(entry.at), text: auditText(entry) }));
  return Response.json({ entries, next_cursor: nextCursor });
}
