import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { formatKey } from '../core/key.ts';
import { floorToSecond, formatInstant, type Instant } from '../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../core/zone.ts';
import { type AckTarget, readAckSecret, readAckToken } from '../store/ack-link.ts';
import { acknowledge, type LinkSubject, readLinkSubject, snooze } from '../store/acknowledge.ts';
import { refuseInDoubt } from '../store/clock-doubt.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { readIncident } from '../store/reading.ts';
import { readKeyZones } from '../store/version-zones.ts';
import type { Zones } from '../zones.ts';
import { ACK_HEADERS, AckPage, NotePage, type ShownIncident } from './ack-page.tsx';
import { readUntil } from './api/acknowledging.ts';
import { RETRY_AFTER_SECONDS } from './problem.ts';

export type AckDeps = { readonly database: Database; readonly zones: Zones };

const MOST_BYTES = 4096;

/**
 * The page a signed link of a message leads to (`/a/{token}`). GET and HEAD show it and do nothing, because mail scanners
 * and previews open links; only a POST, which the page's forms send, acknowledges or snoozes.
 */
export function ackPages(deps: AckDeps): Hono {
  const tooLarge = (c: Context) => note(c, 413, 'Too large', 'A form of this page sends less.');
  return new Hono()
    .get('/a/:token', (c) => guarded(c, () => show(deps, c)))
    .post('/a/:token', bodyLimit({ maxSize: MOST_BYTES, onError: tooLarge }), (c) => guarded(c, () => act(deps, c)));
}

async function guarded(c: Context, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    c.header('Retry-After', String(RETRY_AFTER_SECONDS));
    return note(
      c,
      503,
      'Not now',
      'Rollcall cannot do this right now. Nothing has changed; please try again in a moment.',
    );
  }
}

async function show(deps: AckDeps, c: Context, problem?: string): Promise<Response> {
  const found = await deps.database.transaction(async (tx) => {
    const link = await openLink(tx, c);
    return link.ok ? { ok: true as const, incident: await shown(tx, deps.zones, link) } : link;
  });
  if (!found.ok) return refuse(c, found.reason);
  if (found.incident === null) return refuse(c, 'gone');
  const { incident } = found;
  const page =
    problem === undefined ? <AckPage incident={incident} /> : <AckPage incident={incident} problem={problem} />;
  return c.html(page, problem === undefined ? 200 : 400, ACK_HEADERS);
}

async function act(deps: AckDeps, c: Context): Promise<Response> {
  const form = await readForm(c);
  const done = await deps.database.transaction(async (tx) => {
    const link = await openLink(tx, c);
    if (!link.ok) return link.reason;
    await refuseInDoubt(tx);
    const { target, subject } = link;
    const word = { projectId: subject.projectId, incidentId: target.incidentId, actor: `channel ${subject.channel}` };
    if (form['do'] === 'ack') return (await acknowledge(tx, word)) ? 'done' : 'gone';
    const until = form['do'] === 'snooze' ? readUntil(form['until'] === 'off' ? null : form['until']) : null;
    return until?.ok ? snooze(tx, word, until.value(tx.now)) : 'unknown';
  });
  switch (done) {
    case 'done':
      // Back to this page, whatever a proxy calls it: reloading it sends nothing again.
      return c.body(null, 303, { ...ACK_HEADERS, Location: '?done' });
    case 'past':
      return show(deps, c, 'That time has passed. Nothing has changed.');
    case 'far':
    case 'unknown':
      return show(deps, c, 'This page has no such button. Nothing has changed.');
    case 'no_incident':
      return refuse(c, 'gone');
    default:
      return refuse(c, done);
  }
}

/** The fields of the form; none where the body is no form. */
async function readForm(c: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await c.req.parseBody();
  } catch (error) {
    if (error instanceof TypeError) return {};
    throw error;
  }
}

type Link = { readonly ok: true; readonly target: AckTarget; readonly subject: LinkSubject };
type Refusal = 'wrong' | 'old' | 'gone';

async function openLink(tx: Tx, c: Context): Promise<Link | { readonly ok: false; readonly reason: Refusal }> {
  const target = readAckToken(await readAckSecret(tx), c.req.param('token') ?? '', tx.now);
  if (!target.ok) return target;
  const subject = await readLinkSubject(tx, target.value);
  return subject ? { ok: true, target: target.value, subject } : { ok: false, reason: 'gone' };
}

const REFUSALS: Readonly<Record<Refusal, readonly [404 | 410, string, string]>> = {
  wrong: [404, 'This link is not whole', 'It may have been cut where it was copied. Open it from the message again.'],
  old: [410, 'This link is too old', 'Links work for 30 days. Newer messages about the incident have a newer one.'],
  gone: [410, 'This link leads nowhere any more', 'The job or the channel that it was about has been deleted.'],
};

function refuse(c: Context, reason: Refusal): Response | Promise<Response> {
  const [status, title, text] = REFUSALS[reason];
  return note(c, status, title, text);
}

function note(c: Context, status: 404 | 410 | 413 | 503, title: string, text: string): Response | Promise<Response> {
  return c.html(<NotePage title={title} text={text} />, status, ACK_HEADERS);
}

async function shown(tx: Tx, zones: Zones, { target, subject }: Link): Promise<ShownIncident | null> {
  const incident = await readIncident(tx, subject.projectId, target.incidentId);
  if (!incident) return null;
  const keyZone = await readKeyZones(tx, zones, incident.members);
  const known = zones.get(subject.zone);
  const zone = known.ok ? known.value : zoneOf(UTC_TABLE);
  const { ackedAt, ackedBy, snoozedUntil, snoozedBy } = incident;
  const isSnoozed = snoozedUntil !== null && snoozedUntil > tx.now && incident.resolvedAt === null;
  return {
    path: `/projects/${subject.project}/incidents/${target.incidentId}`,
    jobName: subject.jobName,
    kind: incident.kind,
    openedAt: timeText(incident.openedAt, zone),
    resolvedAt: incident.resolvedAt === null ? null : timeText(incident.resolvedAt, zone),
    acked: ackedAt === null ? null : { at: timeText(ackedAt, zone), by: ackedBy ?? 'somebody' },
    snoozed: isSnoozed ? { until: timeText(snoozedUntil, zone), by: snoozedBy ?? 'somebody' } : null,
    runs: incident.members.map((member) => ({
      key: timeText(member.scheduledFor, keyZone(member)),
      state: member.state.replaceAll('_', ' '),
    })),
    runCount: incident.occurrenceCount,
    tomorrow: tomorrow(tx.now, zone),
  };
}

/** As keys are written, with a space to read it by. */
function timeText(at: Instant, zone: Zone): string {
  return formatKey(floorToSecond(at), zone).replace('T', ' ');
}

const DAY_MS = 86_400_000;
const MORNING_MS = 9 * 3_600_000;

/** Nine in the morning of the next day by the job's clock. */
function tomorrow(now: Instant, zone: Zone): ShownIncident['tomorrow'] {
  const today = Math.floor(zone.localAt(now) / DAY_MS) * DAY_MS;
  const at = zone.firstInstantAtOrPast(today + DAY_MS + MORNING_MS);
  return { value: formatInstant(at), text: `tomorrow 09:00 (${timeText(at, zone)})` };
}
