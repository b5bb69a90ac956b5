import { parsed, type Result, refused } from '../core/time.ts';
import type { Role } from '../web/health.ts';

const ROLES: readonly Role[] = ['web', 'evaluator', 'notifier'];

/** What a process does: every role, unless some are named, each alone or with commas. */
export function parseRoles(given: readonly string[]): Result<ReadonlySet<Role>> {
  const names = given.flatMap((text) => text.split(',')).map((name) => name.trim());
  if (names.length === 0) return parsed(new Set(ROLES));
  const roles = new Set<Role>();
  for (const name of names) {
    const role = ROLES.find((each) => each === name);
    if (role === undefined) return refused(`no role ${JSON.stringify(name)}: there are ${ROLES.join(', ')}`);
    roles.add(role);
  }
  return parsed(roles);
}
