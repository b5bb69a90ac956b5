import type { Applied } from '../core/apply.ts';
import { currentVersion, dueAt, followingInstant, latestInstant, versionOf } from '../core/instants.ts';
import { formatKey, keyCandidates } from '../core/key.ts';
import type { Ledger } from '../core/ledger.ts';
import { keyInstants, type Ping } from '../core/ping.ts';
import { termsAt } from '../core/terms.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { PingAnswer } from './ingest.ts';

/** What the sender hears of an applied ping. */
export function answerOf(ledger: Ledger, ping: Ping, { match, scheduledFor }: Applied, created: boolean): PingAnswer {
  if (match.rule === 'none') return { outcome: 'refused', status: 422, message: refusalOf(ledger, ping, match.reason) };
  const key = scheduledFor === null ? null : keyOf(ledger, scheduledFor);
  return { outcome: 'accepted', created, matchedBy: match.rule, key };
}

/** A key that names no occurrence is answered with the two nearest, one not open yet with the instant it opens. */
function refusalOf(ledger: Ledger, ping: Ping, reason: string): string {
  const [at] = ping.key ? keyInstants(ledger, ping.key) : [];
  if (at !== undefined && reason.includes('not open')) {
    const { opensAt } = termsAt(ledger, at, dueAt(ledger, at)?.version ?? currentVersion(ledger));
    return `${keyOf(ledger, at)}: ${reason}; pings may name it from ${formatInstant(opensAt)} on`;
  }
  const around = at ?? nominalInstant(ledger, ping);
  const near = [latestInstant(ledger, around), followingInstant(ledger, around)].flatMap((one) =>
    one === null ? [] : [keyOf(ledger, one)],
  );
  if (near.length === 0) return `${reason}; the job has no occurrence yet`;
  return `${reason}; the nearest ${near.length === 1 ? 'is' : 'are'} ${near.join(' and ')}`;
}

function nominalInstant(ledger: Ledger, ping: Ping): Instant {
  if (!ping.key) return ping.at;
  const candidates = keyCandidates(ping.key, currentVersion(ledger).zone);
  return ('instants' in candidates ? candidates.instants[0] : candidates.after) ?? ping.at;
}

function keyOf(ledger: Ledger, at: Instant): string {
  const row = ledger.rows.get(at);
  const version = row ? versionOf(ledger, row.version) : (dueAt(ledger, at)?.version ?? currentVersion(ledger));
  return formatKey(at, version.zone);
}
