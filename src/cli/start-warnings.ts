import type { Config } from '../config.ts';
import type { Role } from '../web/health.ts';

type Settings = Pick<Config, 'publicUrl' | 'databaseUrl' | 'smtpUrl' | 'mailFrom'>;

const LEFT_OUT: readonly (readonly [Role, string])[] = [
  ['web', 'no ping will be taken'],
  ['evaluator', 'nothing will be judged'],
  ['notifier', 'nobody will be told'],
];

/** Settings that are right one by one and hardly meant together; each a line for the person who starts the service. */
export function startWarnings(settings: Settings, roles: ReadonlySet<Role>): readonly string[] {
  const { publicUrl, databaseUrl, smtpUrl, mailFrom } = settings;
  const warnings: string[] = [];
  if (/^https?:\/\/(?:0\.0\.0\.0|\[::\])(?::|$)/.test(publicUrl)) {
    warnings.push(
      `links and ping addresses will say ${publicUrl}, which leads nowhere from other machines: set PUBLIC_URL to the address under which people and jobs reach Rollcall`,
    );
  }
  if (smtpUrl !== null && mailFrom === null)
    warnings.push('SMTP_URL is set and MAIL_FROM is not: no e-mail can be sent until both are');
  if (smtpUrl === null && mailFrom !== null)
    warnings.push('MAIL_FROM is set and SMTP_URL is not: no e-mail can be sent until both are');
  const missing = LEFT_OUT.filter(([role]) => !roles.has(role));
  if (databaseUrl === null && missing.length > 0) {
    const lost = missing.map(([, loss]) => loss).join(', ');
    warnings.push(
      `${lost}: this process runs without role ${missing.map(([role]) => role).join(', ')}, and no other process can share the embedded database; leave --role out, or set DATABASE_URL for all of them`,
    );
  }
  return warnings;
}
