import { type Context, Hono } from 'hono';
import { removeMember } from '../../store/members.ts';
import { endSessions, updatePerson } from '../../store/people.ts';
import type { Auth } from '../auth.ts';
import { type AccountProps, AskToLeave } from './account/cards.tsx';
import { type Desk, deskOf, type Handle } from './account/desk.tsx';
import { passwordForms, totpForms } from './account/security.tsx';
import type { PageDeps } from './deps.ts';
import { goTo } from './flash.ts';
import { nameFlaws } from './new-account.tsx';
import { notePage } from './note.tsx';
import { readForm } from './read-form.ts';

/** What a person sees and changes about themselves. */
export function accountPages(deps: PageDeps, auth: Auth): Hono {
  const desk = deskOf(deps, auth);
  const forms: Readonly<Record<string, Handle>> = {
    '/account': saveProfile(deps, desk),
    '/account/sessions/end': endSession(deps),
    '/account/leave': leave(deps),
    ...passwordForms(deps, auth, desk),
    ...totpForms(deps, auth, desk),
  };
  const pages = new Hono()
    .get(
      '/account',
      desk.signedIn((c, who) => desk.show(c, who, connectionProblem(c))),
    )
    .get('/account/leave', desk.signedIn(askToLeave(desk)));
  for (const [path, handle] of Object.entries(forms)) pages.post(path, desk.signedIn(handle));
  return pages;
}

const saveProfile =
  ({ database, zones }: PageDeps, desk: Desk): Handle =>
  async (c, who) => {
    const { name = '', zone: typed = '' } = await readForm(c);
    const zone = typed.trim();
    const known = zone === '' ? null : zones.get(zone);
    const zoneFlaws = known === null || known.ok ? [] : [{ path: 'zone', message: known.reason }];
    const errors = [...nameFlaws(name), ...zoneFlaws];
    if (errors.length > 0) return desk.show(c, who, { errors, typed: { name, zone } }, 400);
    const person = { name: name.trim(), zone: zone === '' ? null : zone };
    await database.transaction((tx) => updatePerson(tx, who.viewer.userId, person));
    return goTo(c, '/account', 'Saved.');
  };

/** One by its id, or without one all but this. */
const endSession =
  ({ database }: PageDeps): Handle =>
  async (c, who) => {
    const { id } = await readForm(c);
    const which = id === undefined ? { but: who.sessionId } : { id };
    await database.transaction((tx) => endSessions(tx, who.viewer.userId, which));
    return goTo(c, '/account', id === undefined ? 'Your other sessions have ended.' : 'The session has ended.');
  };

const askToLeave =
  (desk: Desk): Handle =>
  (c, who) => {
    const project = who.viewer.projects.find(({ slug }) => slug === c.req.query('project'));
    return project
      ? desk.answer(c, who, <AskToLeave project={project} />)
      : goTo(c, '/account', 'You are no member of this project.');
  };

const leave =
  (deps: PageDeps): Handle =>
  async (c, { viewer }) => {
    const { project: slug } = await readForm(c);
    const project = viewer.projects.find((each) => each.slug === slug);
    if (!project) return goTo(c, '/account', 'You are no member of this project.');
    const act = { projectId: project.id, actor: viewer.email };
    const change = await deps.database.transaction((tx) => removeMember(tx, act, viewer.userId));
    if (change !== 'last_owner') return goTo(c, '/account', `You have left ${project.name}.`);
    const text = `You are the last owner of ${project.name}: make somebody else one first.`;
    return notePage(deps, c, 409, 'Not possible', text);
  };

/** What the way back from the provider said. An address that nobody knows here is another one than theirs. */
function connectionProblem(c: Context): Partial<AccountProps> {
  const error = c.req.query('error');
  if (error === undefined) return {};
  const isOther = error === 'email_does_not_match' || error === 'not_invited';
  return {
    refusal: isOther
      ? 'The provider knows you under another e-mail address: nothing was connected.'
      : 'The provider did not confirm you: nothing was connected.',
  };
}
