import type { AuditEntry } from '../store/audit.ts';

type Said = Pick<AuditEntry, 'actor' | 'subject' | 'detail'>;

/** What was done, in words that follow the name of who did it. */
const WORDS: Readonly<Record<string, (said: Said) => string>> = {
  'job.create': ({ subject }) => `made job ${subject}`,
  'job.edit': ({ subject }) => `changed job ${subject}`,
  'job.delete': ({ subject }) => `deleted job ${subject}`,
  'job.pause': ({ subject }) => `paused job ${subject}`,
  'job.resume': ({ subject }) => `resumed job ${subject}`,
  'job.backlog': ({ subject, detail }) => `said ${detail['decision']} about what job ${subject} owed`,
  'job.tz_change': ({ subject }) => `gave job ${subject} a new schedule version, because its time zone changed`,
  'occurrence.settle': ({ subject, detail }) =>
    `settled ${subject.replace(' ', ', due ')}, as ${words(detail['state'])}${detail['note'] ? `: ${detail['note']}` : ''}`,
  'incident.ack': ({ subject, detail }) =>
    `acknowledged incident ${detail['incident']} (${detail['kind']}) of ${subject}`,
  'incident.snooze': ({ subject, detail }) =>
    `snoozed incident ${detail['incident']} (${detail['kind']}) of ${subject}${detail['until'] ? ` until ${detail['until']}` : ''}`,
  'channel.put': ({ subject, detail }) =>
    `${detail['created'] ? 'made' : 'changed'} channel ${subject} (${detail['kind']})`,
  'channel.delete': ({ subject }) => `deleted channel ${subject}`,
  'channel.test': ({ subject, detail }) => `sent a test message to channel ${subject}: ${words(detail['outcome'])}`,
  'channel.unsubscribe': ({ subject }) => `unsubscribed from channel ${subject}`,
  'maintenance.put': ({ subject }) => `put maintenance window ${subject}`,
  'maintenance.end': ({ subject }) => `ended maintenance window ${subject}`,
  'maintenance.delete': ({ subject }) => `deleted maintenance window ${subject}`,
  'report.put': ({ subject, detail }) => `${detail['created'] ? 'made' : 'changed'} report ${subject}`,
  'report.delete': ({ subject }) => `deleted report ${subject}`,
  'report.send': ({ subject }) => `sent report ${subject}`,
  'status_page.create': ({ subject }) => `made status page ${subject}`,
  'status_page.edit': ({ subject }) => `changed status page ${subject}`,
  'status_page.delete': ({ subject }) => `deleted status page ${subject}`,
  'clock.trust': () => "said that the database's clock is right",
  'member.join': ({ subject, detail }) => `${subject} became ${detail['role']}: ${detail['how']}`,
  'member.role': ({ subject, detail }) => `made ${subject} ${detail['to']}, who was ${detail['from']}`,
  'member.remove': ({ subject }) => `removed ${subject} from the project`,
  'member.leave': () => 'left the project',
  'invitation.create': ({ subject, detail }) => `invited ${subject} to be ${detail['role']}`,
  'invitation.revoke': ({ subject }) => `took back the invitation of ${subject}`,
  'key.create': ({ subject, detail }) => `made API key ${subject} (${words(detail['scopes'])})`,
  'key.revoke': ({ subject, detail }) =>
    `revoked ${detail['kind'] === 'ping' ? 'ping' : 'API'} key ${subject} (${detail['hint']}…)`,
  'key.rotate': ({ detail }) => `made a new ping key${overlapOf(detail['overlap_seconds'])}`,
  'project.create': ({ subject }) => `made project ${subject}`,
  'project.rename': ({ detail }) => `renamed the project from ${detail['from']} to ${detail['to']}`,
  'person.sign_in': ({ detail }) => `signed in by ${detail['how']}`,
  'person.password': () => 'changed their password',
  'person.reset': () => 'set a new password by a link made on the server',
  'person.totp_on': () => 'switched the second factor on',
  'person.totp_off': () => 'switched the second factor off',
  'person.backup_codes': () => 'made new backup codes',
  'person.connect': () => 'connected their account with the sign-in provider',
};

/** One sentence: who did what. An action that has no words yet is told by its name. */
export function auditText(entry: Pick<AuditEntry, 'actor' | 'action' | 'subject' | 'detail'>): string {
  const { actor, action, subject } = entry;
  const said = WORDS[action]?.(entry) ?? `${action.replaceAll(/[._]/g, ' ')} ${subject}`;
  // Somebody who joins does it themselves.
  return said.startsWith(`${actor} `) ? said : `${actor} ${said}`;
}

function words(value: unknown): string {
  return [value].flat().map(String).join(', ').replaceAll('_', ' ');
}

function overlapOf(seconds: unknown): string {
  const days = Number(seconds) / 86_400;
  if (!(days > 0)) return '; those before have ended';
  return `; those before work for ${days} more ${days === 1 ? 'day' : 'days'}`;
}
