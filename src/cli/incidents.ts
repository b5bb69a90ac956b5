import { z } from 'zod';
import { isSlug } from '../web/api/slug.ts';
import { EXIT } from './exit-codes.ts';
import { type Ask, jobPath, type RemoteAnswer, refusedCall } from './remote.ts';

const incidentShape = z.looseObject({
  id: z.number(),
  job: z.string(),
  kind: z.string(),
  state: z.string(),
  acked_by: z.string().nullable(),
  snoozed_until: z.string().nullable(),
});
const listShape = z.object({ incidents: z.array(z.object({ id: z.number() })) });

export type RemoteIncident = z.infer<typeof incidentShape>;

/** Does the same to an incident named by its id, or to every open incident of a job. */
export async function toIncidents(
  ask: Ask,
  named: string,
  action: { readonly path: 'ack' | 'snooze'; readonly body?: object },
): Promise<RemoteAnswer<readonly RemoteIncident[]>> {
  const ids = await idsOf(ask, named);
  if (!ids.ok) return ids;
  const values: RemoteIncident[] = [];
  const { path, ...body } = action;
  for (const id of ids.value) {
    const answer = await ask({ method: 'POST', path: `/incidents/${id}/${path}`, ...body, shape: incidentShape });
    if (!answer.ok) return answer;
    values.push(answer.value);
  }
  return { ok: true, value: values, json: { incidents: values } };
}

async function idsOf(ask: Ask, named: string): Promise<RemoteAnswer<readonly number[]>> {
  if (/^\d{1,15}$/.test(named)) return { ok: true, value: [Number(named)], json: null };
  if (!isSlug(named))
    return refusedCall(`${JSON.stringify(named)} is neither the id of an incident nor the slug of a job`);
  const job = jobPath(named);
  if (!job.ok) return job;
  const known = await ask({ path: job.path, shape: z.looseObject({}) });
  if (!known.ok) return known;
  const open = await ask({ path: `/incidents?state=open&job=${named}&limit=500`, shape: listShape });
  if (!open.ok) return open;
  const ids = open.value.incidents.map(({ id }) => id);
  if (ids.length > 0) return { ok: true, value: ids, json: open.json };
  return { ok: false, exit: EXIT.notFound, reason: `${named} has no open incident`, json: open.json };
}
