import type { IncidentMessage, MessageJob, MessageOccurrence, NoticeMessage } from '../core/message.ts';
import type { FieldError } from '../core/schedule.ts';
import type { Instant, Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Known, OpenProblems } from '../store/open-problems.ts';

/** What every channel may know about this installation. One per process: pools of connections hang on its identity. */
export type ChannelContext = {
  readonly publicUrl: string;
  /** CIDRs that channels may reach although they are private (OUTBOUND_ALLOW). */
  readonly outboundAllow: readonly string[];
  readonly smtpUrl: string | null;
  readonly mailFrom: string | null;
  readonly zones: { get(name: string): Result<Zone> };
};

/** An occurrence in a notice, which may be about many jobs. `missedRuns`: the policy of its job. */
export type NoticeOccurrence = MessageOccurrence & { readonly job: MessageJob; readonly missedRuns?: string | null };

/** A notice with the occurrences it is about for this channel: at most 1,000 of `occurrenceCount`. */
export type NoticeEvent = NoticeMessage & {
  readonly occurrences: readonly NoticeOccurrence[];
  readonly occurrenceCount: number;
};

/**
 * `ackUrl`: where a person who got it says that the problem is known; the page acts on POST only. `known`: how the channel
 * and the incident stand as the message leaves.
 */
export type IncidentEvent = IncidentMessage & { readonly ackUrl?: string; readonly known?: Known };

export type BatchEvent = IncidentEvent | NoticeEvent;

/** A message of this channel that was delivered; `receipt` is what its kind asked to be kept of it. */
type FirstMessage = { readonly id: string; readonly receipt: string | null };

/** One message to one channel: everything that waited for it, in order. */
export type Batch = {
  /** Equal on every attempt: by it a receiver spots a repeat. */
  readonly id: string;
  /** When this attempt began, on the database's clock. */
  readonly sentAt: Instant;
  /** The message that told these incidents first, if one did and it was the same for all of them. */
  readonly inReplyTo: FirstMessage | null;
  readonly events: readonly BatchEvent[];
  /** What else is open in the project as the message leaves; left out where the message is about no incident. */
  readonly others?: OpenProblems;
  /** The slug of the channel's project: its pages have the rest; left out where nothing in it has happened. */
  readonly project?: string;
  /** Where the person behind the channel's address ends its messages; the page acts on POST only. */
  readonly unsubscribeUrl?: string;
};

export type Delivery =
  | {
      readonly outcome: 'delivered';
      /** Handed to later messages about the same incidents: what a reply needs to know. Stored, so never a secret. */
      readonly receipt?: string;
    }
  | {
      readonly outcome: 'retry';
      readonly reason: string;
      /** The receiver asked to be left alone this long. */
      readonly retryAfterMs?: number;
      /** The receiver may have it nevertheless: the next attempt must be the same message, with nothing added. */
      readonly uncertain?: boolean;
      /** After so many attempts it counts as rejected: some of those behind the receiver have it each time. */
      readonly mostAttempts?: number;
    }
  | {
      readonly outcome: 'rejected';
      readonly reason: string;
      /** No later message will get through either: the channel itself is gone. */
      readonly permanent: boolean;
    };

/** Settings of one channel, opened. `send` returns every refusal and trouble as a Delivery; it throws only for bugs. */
export type Channel = {
  send(batch: Batch, signal: AbortSignal): Promise<Delivery>;
};

/** The stored settings of a channel: the fields of its kind. */
export type Settings = Readonly<Record<string, string>>;

type ChannelField = {
  readonly name: string;
  readonly label: string;
  /** Never read back. */
  readonly secret: boolean;
  readonly required: boolean;
  /** A value to begin with, where it is the sender who chooses it. */
  readonly make?: () => string;
};

export type ParsedSettings =
  | { readonly ok: true; readonly value: Settings }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/**
 * What may stand together in one message. `all`: everything that waits. `thread`: what was first told by the same
 * message (or by none yet), so that it can be a reply to it; of very many threads at once all together. `incident`:
 * one incident or notice, for a receiver that keeps an alert of its own for each.
 */
export type Grouping = 'all' | 'thread' | 'incident';

/** One way of telling people. A kind is one file and one line in registry.ts. */
export type ChannelKind = {
  readonly label: string;
  readonly fields: readonly ChannelField[];
  /** Not said: `all`. */
  readonly grouping?: Grouping;
  /** Messages of this kind under way at the same time, where all go through one thing that takes no more. */
  readonly atOnce?: number;
  /** Checks what a person gave (strings under the names of `fields`, required ones present); may resolve names. */
  parse(given: Settings, context: ChannelContext): Promise<ParsedSettings>;
  /** Makes stored settings usable; refuses what this installation cannot do now. */
  open(settings: Settings, context: ChannelContext): Result<Channel>;
  /** What may be read back. */
  redact(settings: Settings): Settings;
  /** Why this installation cannot send to any channel of this kind; null: it can. Left out: it always can. */
  cannot?(context: ChannelContext): string | null;
  /** The address of the one person or list that gets the messages, who may end them; null: there is none. */
  recipient?(settings: Settings): string | null;
  /** Gives up what `open` holds for this context. */
  close?(context: ChannelContext): Promise<void>;
};

export function delivered(receipt?: string): Delivery {
  return receipt === undefined ? { outcome: 'delivered' } : { outcome: 'delivered', receipt };
}

type Retry = Extract<Delivery, { readonly outcome: 'retry' }>;

export function retry(reason: string, options: Omit<Retry, 'outcome' | 'reason'> = {}): Delivery {
  return { outcome: 'retry', reason, ...options };
}

export function rejected(reason: string, { permanent = false }: { readonly permanent?: boolean } = {}): Delivery {
  return { outcome: 'rejected', reason, permanent };
}

/** The settings when every rule holds, else everything that is wrong with them. */
export function checkedSettings(
  settings: Settings,
  rules: readonly (readonly [path: string, holds: boolean, message: string])[],
): ParsedSettings {
  const errors = rules.filter(([, holds]) => !holds).map(([path, , message]) => ({ path, message }));
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: settings };
}
