import type { Context } from 'hono';
import type { Zone } from '../../core/zone.ts';
import type { Call } from './call.ts';

/** What a member may do: a viewer reads, an editor changes what is watched, an owner also people and keys. */
export type Role = 'owner' | 'editor' | 'viewer';

/** One project as one person sees it. */
export type Membership = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly role: Role;
};

/** The person who looks, with every project they are a member of, by name. */
export type Viewer = {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  /** The zone they chose to read times in; null: that of the browser. */
  readonly zone: string | null;
  readonly projects: readonly Membership[];
};

/** Who sent this request, by the session's cookie; null: nobody who is signed in. */
export type ReadViewer = (c: Context) => Promise<Viewer | null>;

/** What every page below /projects/{project} finds in its context. */
export type PageEnv = {
  Variables: {
    viewer: Viewer;
    project: Membership;
    /** The API as this person, in this project. */
    call: Call;
    /** The zone of the person who looks. */
    viewerZone: Zone;
  };
};

const RANK: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, owner: 2 };

/** Whether a role includes another. */
export const mayAs = (role: Role, needed: Role): boolean => RANK[role] >= RANK[needed];
