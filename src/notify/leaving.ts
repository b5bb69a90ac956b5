import type { IncidentMessage } from '../core/message.ts';
import { ackLink, readAckSecret } from '../store/ack-link.ts';
import type { ChannelRow } from '../store/channels.ts';
import type { Tx } from '../store/database.ts';
import { knownSoFar, otherProblems } from '../store/open-problems.ts';
import { readProject } from '../store/report-numbers.ts';
import { unsubscribeLink } from '../store/unsubscribe.ts';
import type { Batch, ChannelContext, ChannelKind, IncidentEvent } from './channel.ts';
import { WORST_FIRST } from './phrases.ts';

/** What is only known as a message leaves. */
export type Leaving = {
  readonly tell: (payload: IncidentMessage) => IncidentEvent;
  readonly about: Pick<Batch, 'others' | 'project' | 'unsubscribeUrl'>;
};

type To = Pick<ChannelRow, 'id' | 'projectId' | 'kind' | 'settings'>;

/** For a message to this channel about these incidents. */
export async function leaving(
  tx: Tx,
  channel: To,
  { incidents, kind, context }: Where & { readonly incidents: readonly number[] },
): Promise<Leaving> {
  const secret = await readAckSecret(tx);
  const known = await knownSoFar(tx, channel.id, incidents);
  const others = { except: incidents, worstFirst: WORST_FIRST };
  return {
    tell(payload) {
      const { id } = payload.incident;
      const sofar = known.get(id);
      const event = { ...payload, ...(sofar ? { known: sofar } : {}) };
      if (payload.type === 'incident.resolved') return event;
      const target = { incidentId: id, channelId: channel.id, now: tx.now };
      return { ...event, ackUrl: ackLink(secret, context.publicUrl, target) };
    },
    about: {
      project: (await readProject(tx, channel.projectId)).slug,
      ...(incidents.length === 0 ? {} : { others: await otherProblems(tx, channel.projectId, others) }),
      ...(await unsubscribing(tx, channel, { kind, context })),
    },
  };
}

type Where = { readonly kind: ChannelKind | undefined; readonly context: Pick<ChannelContext, 'publicUrl'> };

/** Where the person behind the channel's address, if it has one, ends its messages. */
export async function unsubscribing(
  tx: Tx,
  { id, settings }: Pick<To, 'id' | 'settings'>,
  { kind, context }: Where,
): Promise<Pick<Batch, 'unsubscribeUrl'>> {
  const address = kind?.recipient?.(settings) ?? null;
  if (address === null) return {};
  const secret = await readAckSecret(tx);
  return { unsubscribeUrl: unsubscribeLink(secret, context.publicUrl, { channelId: id, address }) };
}
