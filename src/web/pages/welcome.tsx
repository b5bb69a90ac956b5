import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Tx } from '../../store/database.ts';
import { addMember, recordAccountChange } from '../../store/members.ts';
import { createPerson, type NewPerson, resetPerson } from '../../store/people.ts';
import { readProjectId } from '../../store/projects.ts';
import { findSignInLink, type SignInLink, useSignInLink } from '../../store/sign-in-links.ts';
import type { Auth } from '../auth.ts';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo } from './flash.ts';
import { flawOf, TextField, type Typed } from './form.tsx';
import { NewAccountFields, passwordFlaws, readNewAccount } from './new-account.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { readForm } from './read-form.ts';
import { signInWith } from './sign-in.tsx';

/** The one-time links that the server prints: by them the owner begins, and whoever is locked out gets in again. */
export function welcomePages(deps: PageDeps, auth: Auth): Hono {
  const { assets, database } = deps;
  const gone = (c: Context) =>
    notePage(
      deps,
      c,
      410,
      'This link does not work any more',
      'It was used, it is too old, or there is an owner already. On the server, "rollcall sign-in-link" makes a new one.',
    );
  const show = (c: Context, link: SignInLink, typed: Typed = {}, errors: readonly ApiFlaw[] = []) =>
    answerPage(
      c,
      <Page title="Welcome" assets={assets} isNarrow>
        <Welcome token={c.req.param('token') ?? ''} link={link} typed={typed} errors={errors} />
      </Page>,
      errors.length > 0 ? 400 : 200,
    );
  const find = (c: Context) => database.transaction((tx) => findSignInLink(tx, c.req.param('token') ?? ''));
  return new Hono()
    .get('/welcome/:token', async (c) => {
      const link = await find(c);
      return link === null ? gone(c) : show(c, link);
    })
    .post('/welcome/:token', async (c) => {
      const link = await find(c);
      if (link === null) return gone(c);
      const typed = await readForm(c);
      const { errors, ...account } = readAccount(link, typed);
      if (errors.length > 0) return show(c, link, typed, errors);
      const passwordHash = await auth.hashPassword(account.password);
      const person = { name: account.name, email: account.email, passwordHash, isVerified: false };
      const isIn = await database.transaction((tx) => letIn(tx, c.req.param('token'), person));
      if (!isIn) return gone(c);
      return (await signInWith(auth, c, account)) ? goTo(c, '/') : goTo(c, '/sign-in');
    });
}

/** Where the account is known, only its password is asked for. */
function readAccount(link: SignInLink, typed: Typed): ReturnType<typeof readNewAccount> {
  if (link.kind !== 'password') return readNewAccount(typed);
  const { password = '' } = typed;
  return { name: '', email: link.email, password, errors: passwordFlaws(password) };
}

/** False: somebody used the link, or another one, first. */
async function letIn(tx: Tx, token: string, person: NewPerson): Promise<boolean> {
  const link = await useSignInLink(tx, token);
  if (link === null) return false;
  if (link.kind === 'password') {
    const known = await resetPerson(tx, link.email, person.passwordHash);
    if (known !== null) await recordAccountChange(tx, known, 'person.reset');
    return known !== null;
  }
  // Whoever reads the server's terminal may have any account: an old one of this address gets the new password.
  const userId = (await createPerson(tx, person)) ?? (await resetPerson(tx, person.email, person.passwordHash));
  const projectId = await readProjectId(tx, 'default');
  if (userId === null || projectId === null) throw new Error('project default, or a person just made, has vanished');
  const how = link.kind === 'first' ? 'first sign-in link' : 'sign-in link made on the server';
  await addMember(tx, { projectId, actor: person.email }, { userId, role: 'owner', how });
  return true;
}

const RESET = 'its second factor is switched off, and its sessions end';

const WORDS: Readonly<Record<SignInLink['kind'], readonly [title: string, text: string, button: string]>> = {
  first: [
    'Welcome to Rollcall',
    'Make the account of the owner: it may do everything, also invite others. This link works once.',
    'Make the account',
  ],
  recovery: [
    'Back in',
    `Choose a new password. An account of this address gets it, ${RESET}; otherwise a new account is made. It becomes an owner of project default. This link works once, for an hour.`,
    'Set the password',
  ],
  password: ['A new password', `The account gets it, ${RESET}. This link works once, for an hour.`, 'Set the password'],
};

const Welcome: FC<{ token: string; link: SignInLink; typed: Typed; errors: readonly ApiFlaw[] }> = ({
  token,
  link,
  typed,
  errors,
}) => {
  const [title, text, button] = WORDS[link.kind];
  return (
    <>
      <h1>{title}</h1>
      {link.kind === 'password' ? <p>{link.email}</p> : null}
      <p>{text}</p>
      <form method="post" action={`/welcome/${token}`} class="stack">
        {link.kind === 'password' ? (
          <TextField
            name="password"
            label="New password"
            type="password"
            flaw={flawOf(errors, 'password')}
            autocomplete="new-password"
            required
          />
        ) : (
          <NewAccountFields typed={typed} errors={errors} email />
        )}
        <p>
          <button type="submit" class="main">
            {button}
          </button>
        </p>
      </form>
    </>
  );
};
