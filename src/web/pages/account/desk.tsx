import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { readAccount } from '../../../store/people.ts';
import type { Auth, SignedIn } from '../../auth.ts';
import { PROVIDER } from '../../auth-instance.ts';
import type { PageDeps } from '../deps.ts';
import { takeFlash } from '../flash.ts';
import { answerPage, Page } from '../page.tsx';
import { viewerZone } from '../project-gate.ts';
import { Account, type AccountProps } from './cards.tsx';

type Answer = Response | Promise<Response>;
type Status = 200 | 400 | 429;

/** What answers somebody who is signed in. */
export type Handle = (c: Context, who: SignedIn) => Answer;

/** What every form of the account page works with. */
export type Desk = {
  /** Only for who is signed in; others go to the sign-in. */
  signedIn(handle: Handle): (c: Context) => Promise<Response>;
  /** The account page, with what was wrong. */
  show(c: Context, who: SignedIn, more?: Partial<AccountProps>, status?: Status): Promise<Response>;
  /** A page of its own below it. */
  answer(c: Context, who: SignedIn, children: Child, status?: Status): Answer;
};

export function deskOf({ assets, database, zones }: PageDeps, auth: Auth): Desk {
  const answer: Desk['answer'] = (c, { viewer }, children, status = 200) =>
    answerPage(
      c,
      <Page title="Account" assets={assets} viewer={viewer} flash={takeFlash(c)} isNarrow>
        {children}
      </Page>,
      status,
    );
  return {
    answer,
    signedIn: (handle) => async (c) => {
      const who = await auth.readSession(c);
      return who ? handle(c, who) : c.redirect('/sign-in?to=/account', 303);
    },
    async show(c, who, more = {}, status = 200) {
      const view = await database.transaction((tx) => readAccount(tx, who.viewer.userId, PROVIDER));
      const zone = viewerZone(c, zones, who.viewer);
      return answer(c, who, <Account {...{ who, view, zone, provider: auth.provider }} {...more} />, status);
    },
  };
}
