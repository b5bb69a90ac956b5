import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { type Invitation, invite, listInvitations, revokeInvitation } from '../../../store/invitations.ts';
import { listMembers, type Member, type MemberChange, removeMember, setRole } from '../../../store/members.ts';
import { Asking } from '../asking.tsx';
import type { ApiFlaw } from '../call.ts';
import type { PageDeps } from '../deps.ts';
import { goTo } from '../flash.ts';
import { Field, flawOf, Refusal, TextField, type Typed } from '../form.tsx';
import { emailFlaws } from '../new-account.tsx';
import { readForm } from '../read-form.ts';
import { Secret } from '../secret.tsx';
import { Time } from '../time.tsx';
import type { PageEnv, Role } from '../viewer.ts';
import { answerSettings, settingsPath } from './frame.tsx';

const ROLES: readonly Role[] = ['viewer', 'editor', 'owner'];
const ROLES_IN_WORDS =
  'A viewer sees everything but keys and ping addresses. An editor also changes jobs, channels and windows. An owner also keeps members, keys and settings.';

const isRole = (text: string | undefined): text is Role => ROLES.some((role) => role === text);

/** Who is in, and who is invited. */
export function memberPages({ assets, database, publicUrl }: PageDeps): Hono<PageEnv> {
  const actOf = (c: Context<PageEnv>) => ({ projectId: c.var.project.id, actor: c.var.viewer.email });
  const show = async (c: Context<PageEnv>, more: Partial<Shown> = {}, status: 200 | 400 | 409 = 200) => {
    const { id } = c.var.project;
    const lists = await database.transaction(async (tx) => ({
      members: await listMembers(tx, id),
      invitations: await listInvitations(tx, id),
    }));
    const base = settingsPath(c, '/members');
    const page = <Members base={base} zone={c.var.viewerZone} self={c.var.viewer.userId} {...lists} {...more} />;
    return answerSettings(c, { assets, part: '/members', status }, page);
  };
  const answer = (c: Context<PageEnv>, change: MemberChange, text: string) => {
    if (change === 'last_owner')
      return show(c, { refusal: 'The last owner stays an owner: make somebody else one first.' }, 409);
    return goTo(c, settingsPath(c, '/members'), change === 'done' ? text : 'This person is no member any more.');
  };
  return new Hono<PageEnv>()
    .get('/settings/members', (c) => show(c))
    .post('/settings/members/invite', async (c) => {
      const typed = await readForm(c);
      const { email = '', role } = typed;
      const errors = [...emailFlaws(email), ...(isRole(role) ? [] : [{ path: 'role', message: 'choose a role' }])];
      if (errors.length > 0 || !isRole(role)) return show(c, { typed, errors }, 400);
      const token = await database.transaction((tx) => invite(tx, actOf(c), { email: email.trim(), role }));
      return show(c, { made: { email: email.trim(), link: `${publicUrl}/invitations/${token}` } });
    })
    .post('/settings/members/invitations/:id/revoke', async (c) => {
      const id = Number(c.req.param('id'));
      const isGone =
        Number.isSafeInteger(id) && (await database.transaction((tx) => revokeInvitation(tx, actOf(c), id)));
      const text = isGone ? 'The invitation is taken back.' : 'This invitation was accepted, or is gone.';
      return goTo(c, settingsPath(c, '/members'), text);
    })
    .post('/settings/members/:user/role', async (c) => {
      const { role } = await readForm(c);
      if (!isRole(role)) return show(c, { refusal: 'Choose a role.' }, 400);
      const userId = c.req.param('user');
      const change = await database.transaction((tx) => setRole(tx, actOf(c), { userId, role }));
      return answer(c, change, 'The role is changed.');
    })
    .get('/settings/members/:user/remove', async (c) => {
      const members = await database.transaction((tx) => listMembers(tx, c.var.project.id));
      const member = members.find(({ userId }) => userId === c.req.param('user'));
      const back = settingsPath(c, '/members');
      if (!member) return goTo(c, back, 'This person is no member any more.');
      return answerSettings(c, { assets, part: '/members' }, <AskToRemove member={member} back={back} />);
    })
    .post('/settings/members/:user/remove', async (c) => {
      const userId = c.req.param('user');
      const change = await database.transaction((tx) => removeMember(tx, actOf(c), userId));
      if (change === 'done' && userId === c.var.viewer.userId)
        return goTo(c, '/projects', 'You have left the project.');
      return answer(c, change, 'The member is removed and has no access any more.');
    });
}

type Shown = {
  readonly base: string;
  readonly zone: PageEnv['Variables']['viewerZone'];
  readonly self: string;
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
  readonly typed?: Typed;
  readonly errors?: readonly ApiFlaw[];
  readonly refusal?: string;
  readonly made?: { readonly email: string; readonly link: string };
};

const Members: FC<Shown> = ({ base, zone, self, members, invitations, typed = {}, errors = [], refusal, made }) => (
  <>
    <Refusal detail={refusal} />
    {made ? (
      <div class="notice stack-s">
        <p>Send this link to {made.email}. It is shown this once, works once, and for seven days.</p>
        <Secret id="invitation" label="Invitation" value={made.link} />
      </div>
    ) : null}
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">Members</caption>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Since</th>
            <th scope="col">Second factor</th>
            <th scope="col">Role</th>
            <th scope="col">
              <span class="unseen">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow base={base} zone={zone} member={member} isSelf={member.userId === self} />
          ))}
        </tbody>
      </table>
    </div>
    {invitations.length === 0 ? null : <Invitations base={base} zone={zone} invitations={invitations} />}
    <form method="post" action={`${base}/invite`} class="card stack">
      <h2>Invite</h2>
      <div class="fields">
        <TextField
          name="email"
          label="E-mail"
          type="email"
          value={typed['email']}
          flaw={flawOf(errors, 'email')}
          required
        />
        <Field name="role" label="Role" hint={ROLES_IN_WORDS} flaw={flawOf(errors, 'role')}>
          {(attributes) => <RoleChoice attributes={attributes} chosen={typed['role'] ?? 'viewer'} />}
        </Field>
      </div>
      <p>
        <button type="submit">Make the invitation</button>
      </p>
    </form>
  </>
);

const RoleChoice: FC<{ attributes: object; chosen: string }> = ({ attributes, chosen }) => (
  <select {...attributes}>
    {ROLES.map((role) => (
      <option value={role} selected={role === chosen}>
        {role}
      </option>
    ))}
  </select>
);

const MemberRow: FC<{ base: string; zone: Shown['zone']; member: Member; isSelf: boolean }> = ({
  base,
  zone,
  member,
  isSelf,
}) => (
  <tr>
    <td>
      <strong>{member.name}</strong>
      {isSelf ? ' (you)' : ''}
      <br />
      <span class="small soft">{member.email}</span>
    </td>
    <td data-name="Since">
      <Time at={member.since} zone={zone} />
    </td>
    <td data-name="Second factor">{member.hasTotp ? 'on' : <span class="soft">off</span>}</td>
    <td data-name="Role">
      <form method="post" action={`${base}/${member.userId}/role`} class="row inline">
        <RoleChoice attributes={{ name: 'role', 'aria-label': `Role of ${member.name}` }} chosen={member.role} />
        <button type="submit" class="small">
          Change
        </button>
      </form>
    </td>
    <td class="tight">
      <a class="button small danger" href={`${base}/${member.userId}/remove`}>
        Remove<span class="unseen"> {member.name}</span>
      </a>
    </td>
  </tr>
);

const AskToRemove: FC<{ member: Member; back: string }> = ({ member: { name, email, role }, back }) => (
  <Asking title={`Remove ${name}?`} verb="Remove this member" back={back} isPart>
    <p>
      {email} ({role}) has no access to this project from the next request on. What they did stays in the audit log, and
      keys that they made go on working. To come back they need a new invitation.
    </p>
  </Asking>
);

const Invitations: FC<{ base: string; zone: Shown['zone']; invitations: readonly Invitation[] }> = ({
  base,
  zone,
  invitations,
}) => (
  <>
    <h2>Invited</h2>
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">Invited</caption>
        <thead>
          <tr>
            <th scope="col">E-mail</th>
            <th scope="col">Role</th>
            <th scope="col">By</th>
            <th scope="col">Works until</th>
            <th scope="col">
              <span class="unseen">Take back</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.map(({ id, email, role, invitedBy, expiresAt }) => (
            <tr>
              <td>{email}</td>
              <td data-name="Role">{role}</td>
              <td data-name="By">{invitedBy}</td>
              <td data-name="Works until">
                <Time at={expiresAt} zone={zone} />
              </td>
              <td class="tight">
                <form method="post" action={`${base}/invitations/${id}/revoke`} class="inline">
                  <button type="submit" class="small">
                    Take back<span class="unseen"> the invitation of {email}</span>
                  </button>
                </form>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </>
);
