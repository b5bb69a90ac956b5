import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { acceptInvitation, findInvitation, type Invitation } from '../../store/invitations.ts';
import { recordSignIn } from '../../store/members.ts';
import { createPerson } from '../../store/people.ts';
import { type Auth, keepCookies } from '../auth.ts';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo } from './flash.ts';
import { Refusal, type Typed } from './form.tsx';
import { NewAccountFields, nameFlaws, passwordFlaws } from './new-account.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { readForm } from './read-form.ts';
import { signInWith, tooMany } from './sign-in.tsx';
import type { Viewer } from './viewer.ts';

/** Accepting an invitation, by the link of it. */
export function invitationPages(deps: PageDeps, auth: Auth): Hono {
  const { assets, database, readViewer } = deps;
  const find = (c: Context) => database.transaction((tx) => findInvitation(tx, c.req.param('token') ?? ''));
  const show = (c: Context, shown: Omit<Shown, 'token'>, status: 200 | 400 | 401 | 429 = 200) =>
    answerPage(
      c,
      <Page title="Invitation" assets={assets} viewer={shown.viewer ?? undefined} isNarrow>
        <InvitationCard {...shown} token={c.req.param('token') ?? ''} />
      </Page>,
      status,
    );
  const gone = (c: Context) =>
    notePage(
      deps,
      c,
      410,
      'This invitation does not work any more',
      'It was accepted, taken back, or is older than seven days. Whoever invited you can do it again.',
    );
  const join = async (c: Context, invitation: Invitation, userId: string) => {
    const isIn = await database.transaction((tx) => acceptInvitation(tx, invitation, userId));
    const { projectSlug, projectName } = invitation;
    return isIn ? goTo(c, `/projects/${projectSlug}`, `You are in ${projectName} now.`) : gone(c);
  };
  return new Hono()
    .get('/invitations/:token', async (c) => {
      const invitation = await find(c);
      return invitation ? show(c, { invitation, viewer: await readViewer(c) }) : gone(c);
    })
    .post('/invitations/:token', async (c) => {
      const invitation = await find(c);
      if (!invitation) return gone(c);
      const viewer = await readViewer(c);
      if (viewer) {
        if (viewer.email !== invitation.email) return show(c, { invitation, viewer }, 400);
        return join(c, invitation, viewer.userId);
      }
      const typed = await readForm(c);
      const { name = '', password = '' } = typed;
      const errors = [...nameFlaws(name), ...passwordFlaws(password)];
      if (errors.length > 0) return show(c, { invitation, viewer, typed, errors }, 400);
      const passwordHash = await auth.hashPassword(password);
      const { email } = invitation;
      // The link was shown to whoever invited: it proves nothing about the address.
      const person = { name: name.trim(), email, passwordHash, isVerified: false };
      const userId = await database.transaction(async (tx) => {
        const made = await createPerson(tx, person);
        if (made === null) return null;
        if (!(await acceptInvitation(tx, invitation, made))) throw new Gone();
        return made;
      });
      const to = `/projects/${invitation.projectSlug}`;
      if (userId !== null) return (await signInWith(auth, c, { email, password })) ? goTo(c, to) : goTo(c, '/sign-in');
      return signInAndJoin(c, { invitation, typed, password });
    })
    .onError((error, c) => {
      if (error instanceof Gone) return gone(c);
      throw error;
    });

  /** The address has an account: its password is the one that counts. */
  async function signInAndJoin(c: Context, { invitation, typed, password }: Attempt): Promise<Response> {
    const answer = await auth.askPassword(c, invitation.email, password);
    const shown = { invitation, viewer: null, typed };
    if (answer.status === 429) return show(c, { ...shown, refusal: tooMany(c, answer.headers) }, 429);
    if (answer.status !== 200) return show(c, { ...shown, refusal: WRONG }, 401);
    keepCookies(c, answer.headers);
    if (answer.json.twoFactorRedirect) return goTo(c, `/sign-in/code?to=${encodeURIComponent(c.req.path)}`);
    await database.transaction((tx) => recordSignIn(tx, answer.json.user.id, 'password'));
    return join(c, invitation, answer.json.user.id);
  }
}

/** The invitation ended while its account was made: neither is. */
class Gone extends Error {}

const WRONG = 'This does not open the account. If you have one under this address already, enter its password.';

type Attempt = { readonly invitation: Invitation; readonly typed: Typed; readonly password: string };

type Shown = {
  readonly token: string;
  readonly invitation: Invitation;
  readonly viewer: Viewer | null;
  readonly typed?: Typed;
  readonly errors?: readonly ApiFlaw[];
  readonly refusal?: string;
};

const InvitationCard: FC<Shown> = ({ token, invitation, viewer, typed = {}, errors = [], refusal }) => (
  <>
    <h1>Join {invitation.projectName}</h1>
    <p>
      {invitation.invitedBy} invites {invitation.email} to be {ARTICLES[invitation.role]} of this project.
    </p>
    <Refusal detail={refusal} />
    {viewer === null ? (
      <form method="post" action={`/invitations/${token}`} class="stack">
        <NewAccountFields
          typed={typed}
          errors={errors}
          email={false}
          hint="Of your account under this address. If you have none, choose one of at least 10 characters."
        />
        <p class="row">
          <button type="submit" class="main">
            Join
          </button>
          <a href={`/sign-in?to=${encodeURIComponent(`/invitations/${token}`)}`}>Sign in first</a>
        </p>
      </form>
    ) : (
      <SignedIn token={token} invitation={invitation} viewer={viewer} />
    )}
  </>
);

const ARTICLES = { owner: 'an owner', editor: 'an editor', viewer: 'a viewer' } as const;

const SignedIn: FC<{ token: string; invitation: Invitation; viewer: Viewer }> = ({ token, invitation, viewer }) =>
  viewer.email === invitation.email ? (
    <form method="post" action={`/invitations/${token}`}>
      <button type="submit" class="main">
        Join as {viewer.name}
      </button>
    </form>
  ) : (
    <>
      <p class="trouble">
        You are signed in as {viewer.email}, and the invitation is for {invitation.email}: sign out first.
      </p>
      <form method="post" action="/sign-out">
        <button type="submit">Sign out</button>
      </form>
    </>
  );
