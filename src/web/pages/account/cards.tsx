import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import type { AccountView, PersonSession } from '../../../store/people.ts';
import type { SignedIn } from '../../auth.ts';
import { Asking } from '../asking.tsx';
import type { ApiFlaw } from '../call.ts';
import { flawOf, Refusal, TextField, type Typed } from '../form.tsx';
import { Time } from '../time.tsx';
import type { Membership } from '../viewer.ts';

export type AccountProps = {
  readonly who: SignedIn;
  readonly view: AccountView;
  readonly zone: Zone;
  readonly provider: string | null;
  readonly typed?: Typed;
  readonly errors?: readonly ApiFlaw[];
  readonly refusal?: string;
};

/** All that a person has here, card by card. */
export const Account: FC<AccountProps> = ({ who, view, zone, provider, typed = {}, errors = [], refusal }) => (
  <>
    <h1>{who.viewer.name}</h1>
    <div class="row spread">
      <span class="soft">{who.viewer.email}</span>
      <form method="post" action="/sign-out" class="inline">
        <button type="submit">Sign out</button>
      </form>
    </div>
    <Refusal detail={refusal} />
    <Profile who={who} typed={typed} errors={errors} />
    {view.hasPassword ? <Password errors={errors} /> : null}
    {view.hasPassword ? <SecondFactor isOn={view.hasTotp} errors={errors} /> : null}
    {provider === null ? null : <Connection provider={provider} isConnected={view.isConnected} />}
    <Sessions sessions={view.sessions} current={who.sessionId} zone={zone} />
    <Projects projects={who.viewer.projects} />
  </>
);

const Profile: FC<{ who: SignedIn; typed: Typed; errors: readonly ApiFlaw[] }> = ({ who, typed, errors }) => (
  <form method="post" action="/account" class="card stack">
    <h2>You</h2>
    <TextField
      name="name"
      label="Name"
      value={typed['name'] ?? who.viewer.name}
      flaw={flawOf(errors, 'name')}
      autocomplete="name"
      required
    />
    <TextField
      name="zone"
      label="Time zone you read in"
      hint="Such as Europe/Berlin. Empty: that of your browser."
      value={typed['zone'] ?? who.viewer.zone ?? ''}
      flaw={flawOf(errors, 'zone')}
    />
    <p>
      <button type="submit">Save</button>
    </p>
  </form>
);

const Password: FC<{ errors: readonly ApiFlaw[] }> = ({ errors }) => (
  <form method="post" action="/account/password" class="card stack">
    <h2>Password</h2>
    <TextField
      name="current"
      label="Current password"
      type="password"
      flaw={flawOf(errors, 'current')}
      autocomplete="current-password"
      required
    />
    <TextField
      name="new_password"
      label="New password"
      type="password"
      hint="Your other sessions end."
      flaw={flawOf(errors, 'new_password')}
      autocomplete="new-password"
      required
    />
    <p>
      <button type="submit">Change the password</button>
    </p>
  </form>
);

const SecondFactor: FC<{ isOn: boolean; errors: readonly ApiFlaw[] }> = ({ isOn, errors }) => (
  <form method="post" action={isOn ? '/account/totp/off' : '/account/totp/start'} class="card stack">
    <h2>Second factor</h2>
    <p class="soft">
      {isOn
        ? 'On: after the password a code of your authenticator app is asked for.'
        : 'Off. With it, your password alone opens nothing: a code of an authenticator app is asked for too.'}
    </p>
    <TextField
      name="password"
      label="Password"
      type="password"
      flaw={flawOf(errors, 'password')}
      autocomplete="current-password"
      required
    />
    <p class="row">
      {isOn ? (
        <>
          <button type="submit" formaction="/account/totp/codes">
            Make new backup codes
          </button>
          <button type="submit" class="danger" data-asks="Switch the second factor off?">
            Switch it off
          </button>
        </>
      ) : (
        <button type="submit">Set it up</button>
      )}
    </p>
  </form>
);

const Connection: FC<{ provider: string; isConnected: boolean }> = ({ provider, isConnected }) => (
  <form method="post" action="/account/connect" class="card stack">
    <h2>{provider}</h2>
    {isConnected ? (
      <p class="soft">Connected: you can sign in with it.</p>
    ) : (
      <>
        <p class="soft">Not connected. Your address there must be the one here.</p>
        <p>
          <button type="submit">Connect {provider}</button>
        </p>
      </>
    )}
  </form>
);

const Sessions: FC<{ sessions: readonly PersonSession[]; current: string; zone: Zone }> = ({
  sessions,
  current,
  zone,
}) => (
  <section class="card stack">
    <h2>Sessions</h2>
    <ul class="bare stack-s">
      {sessions.map(({ id, address, userAgent, begunAt }) => (
        <li class="row spread">
          <span>
            {browserName(userAgent)} <span class="soft">{address ?? 'from nowhere known'}</span>{' '}
            {id === current ? <span class="tag">this one</span> : null}
            <br />
            <span class="small soft">
              since <Time at={begunAt} zone={zone} />
            </span>
          </span>
          {id === current ? null : (
            <form method="post" action="/account/sessions/end" class="inline">
              <input type="hidden" name="id" value={id} />
              <button type="submit" class="small">
                End<span class="unseen"> the session of {browserName(userAgent)}</span>
              </button>
            </form>
          )}
        </li>
      ))}
    </ul>
    {sessions.length > 1 ? (
      <form method="post" action="/account/sessions/end">
        <button type="submit">End all others</button>
      </form>
    ) : null}
  </section>
);

/** The order counts: nearly every browser says that it is Safari too, and most that they are Chrome. */
const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari', 'curl'];
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'];

/** A browser as people call it, from what it says of itself. */
function browserName(userAgent: string | null): string {
  const has = (name: string): boolean => userAgent?.includes(name) ?? false;
  const browser = BROWSERS.find(has)?.replace('Edg', 'Edge').replace('OPR', 'Opera') ?? 'A browser';
  const system = SYSTEMS.find(has);
  return system === undefined ? browser : `${browser} on ${system}`;
}

const Projects: FC<{ projects: readonly Membership[] }> = ({ projects }) => (
  <section class="card stack">
    <h2>Projects</h2>
    {projects.length === 0 ? <p class="soft">You are a member of none.</p> : null}
    <ul class="bare stack-s">
      {projects.map(({ slug, name, role }) => (
        <li class="row spread">
          <span>
            <a href={`/projects/${slug}`}>{name}</a> <span class="soft">{role}</span>
          </span>
          <a class="button small danger" href={`/account/leave?project=${slug}`}>
            Leave<span class="unseen"> {name}</span>
          </a>
        </li>
      ))}
    </ul>
    <p>
      <a href="/projects">All projects, and a new one</a>
    </p>
  </section>
);

/** Asks before somebody gives up what only an owner can give back. */
export const AskToLeave: FC<{ project: Membership }> = ({ project: { slug, name, role } }) => (
  <Asking title={`Leave ${name}?`} verb="Leave this project" fields={{ project: slug }} back="/account">
    <p>
      You are {role === 'viewer' ? 'a' : 'an'} {role} there, and lose access at once. To come back you need an
      invitation of an owner.
    </p>
  </Asking>
);
