import type { Context } from 'hono';
import { channelKinds } from '../../notify/registry.ts';
import type { ChannelRow } from '../../store/channels.ts';
import type { ShownChannel } from './channel-parts.tsx';
import type { Typed } from './form.tsx';

/** Secrets left empty in a form that leads to another server: its writer would be sent what they may not see. */
export function secretsToType(
  { kind, settings }: Pick<ChannelRow, 'kind' | 'settings'>,
  typed: Typed,
): readonly string[] {
  if ((typed['server'] ?? '').trim() === (settings['server'] ?? '')) return [];
  return secretsOf(kind).filter((name) => settings[name] && !typed[name]);
}

/** The fields of a kind that are never read back. */
export const secretsOf = (kind: string): readonly string[] =>
  (channelKinds.get(kind)?.fields ?? []).filter(({ secret }) => secret).map(({ name }) => name);

/** Everything a form of a channel says; what it says more than once with commas between. */
export async function readTyped(c: Context): Promise<Typed> {
  const form = await c.req.formData();
  // In one pass: to ask for every name is quadratic, and a form may repeat one for ever.
  const typed = new Map<string, string[]>();
  for (const [name, value] of form.entries())
    typed
      .set(name, typed.get(name) ?? [])
      .get(name)
      ?.push(String(value));
  return Object.fromEntries([...typed].map(([name, values]) => [name, values.join(',')]));
}

/** What the form says, as PUT takes it: fields left empty are left out. */
export function channelBody(kind: string, typed: Typed): Readonly<Record<string, unknown>> {
  const fields = channelKinds.get(kind)?.fields ?? [];
  const list = (name: string): readonly string[] =>
    (typed[name] ?? '').split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
  const [kinds, tags] = [list('route_kinds'), list('route_tags')];
  const routes =
    kinds.length + tags.length === 0 ? null : { kinds: kinds.length ? kinds : null, tags: tags.length ? tags : null };
  return {
    kind,
    ...Object.fromEntries(fields.flatMap(({ name }) => (typed[name] ? [[name, typed[name].trim()]] : []))),
    operator: typed['operator'] !== undefined,
    ...(typed['remind_every'] ? { remind_every: typed['remind_every'].trim() } : {}),
    ...(routes ? { routes } : {}),
  };
}

/** A stored channel as the form would have been filled in, without its secrets. */
export function typedOf(channel: ShownChannel): Typed {
  const settings = Object.entries(channel).flatMap(([name, value]) =>
    typeof value === 'string' && !secretsOf(channel.kind).includes(name) ? [[name, value] as const] : [],
  );
  return {
    ...Object.fromEntries(settings),
    ...(channel.operator ? { operator: 'on' } : {}),
    remind_every: channel.remind_every ?? '',
    route_kinds: channel.routes?.kinds?.join(',') ?? '',
    route_tags: channel.routes?.tags?.join(', ') ?? '',
  };
}
