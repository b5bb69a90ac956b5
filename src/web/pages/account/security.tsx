import type { Context } from 'hono';
import { recordAccountChange } from '../../../store/members.ts';
import { type Auth, type AuthAnswer, keepCookies, type SignedIn } from '../../auth.ts';
import type { PageDeps } from '../deps.ts';
import { goTo } from '../flash.ts';
import { passwordFlaws } from '../new-account.tsx';
import { readForm } from '../read-form.ts';
import { tooMany } from '../sign-in.tsx';
import type { Desk, Handle } from './desk.tsx';
import { BackupCodes, ConfirmTotp, StartTotp } from './totp.tsx';

type Forms = Readonly<Record<string, Handle>>;

export function passwordForms(deps: PageDeps, auth: Auth, desk: Desk): Forms {
  return {
    '/account/password': async (c, who) => {
      const { current = '', new_password: newPassword = '' } = await readForm(c);
      const errors = passwordFlaws(newPassword, 'new_password');
      if (errors.length > 0) return desk.show(c, who, { errors }, 400);
      const body = { currentPassword: current, newPassword, revokeOtherSessions: true };
      const answer = await auth.ask(c, '/change-password', body);
      if (answer.status !== 200) return refuse(desk, c, who, { answer, at: 'current' });
      await keep(deps, c, who, { answer, action: 'person.password' });
      return goTo(c, '/account', 'The password is changed. Your other sessions have ended.');
    },
  };
}

/** Each asks for the password but the one with the code, which proves as much. */
export function totpForms(deps: PageDeps, auth: Auth, desk: Desk): Forms {
  const withPassword =
    (path: string, done: (c: Context, who: SignedIn, answer: AuthAnswer) => Promise<Response>): Handle =>
    async (c, who) => {
      const { password = '' } = await readForm(c);
      const answer = await auth.ask(c, path, { password });
      return answer.status === 200 ? done(c, who, answer) : refuse(desk, c, who, { answer, at: 'password' });
    };
  return {
    '/account/totp/start': withPassword('/two-factor/enable', async (c, who, { json }) =>
      desk.answer(c, who, <StartTotp uri={json.totpURI} codes={json.backupCodes} />),
    ),
    '/account/totp/confirm': async (c, who) => {
      const code = ((await readForm(c))['code'] ?? '').replaceAll(/\s/g, '');
      const answer = await auth.ask(c, '/two-factor/verify-totp', { code });
      if (answer.status === 429) return desk.answer(c, who, <ConfirmTotp refusal={tooMany(c, answer.headers)} />, 429);
      if (answer.status !== 200)
        return desk.answer(c, who, <ConfirmTotp refusal="This code is wrong, or too old." />, 400);
      await keep(deps, c, who, { answer, action: 'person.totp_on' });
      return goTo(c, '/account', 'The second factor is on.');
    },
    '/account/totp/off': withPassword('/two-factor/disable', async (c, who, answer) => {
      await keep(deps, c, who, { answer, action: 'person.totp_off' });
      return goTo(c, '/account', 'The second factor is off.');
    }),
    '/account/totp/codes': withPassword('/two-factor/generate-backup-codes', async (c, who, answer) => {
      await keep(deps, c, who, { answer, action: 'person.backup_codes' });
      return desk.answer(c, who, <BackupCodes codes={answer.json.backupCodes} />);
    }),
  };
}

/** A wrong password is said at its field, everything else above. */
function refuse(
  desk: Desk,
  c: Context,
  who: SignedIn,
  { answer, at }: { readonly answer: AuthAnswer; readonly at: string },
): Promise<Response> {
  if (answer.status === 429) return desk.show(c, who, { refusal: tooMany(c, answer.headers) }, 429);
  return desk.show(c, who, { errors: [{ path: at, message: 'this is not your password' }] }, 400);
}

/** It is done: the session goes on under a new cookie, and the audit has it. */
async function keep(
  { database }: PageDeps,
  c: Context,
  { viewer }: SignedIn,
  { answer, action }: { readonly answer: AuthAnswer; readonly action: `person.${string}` },
): Promise<void> {
  keepCookies(c, answer.headers);
  await database.transaction((tx) => recordAccountChange(tx, viewer.userId, action));
}
