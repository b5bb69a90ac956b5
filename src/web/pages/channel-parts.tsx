import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import type { Zone } from '../../core/zone.ts';
import { channelKinds } from '../../notify/registry.ts';
import { toldKinds } from '../api/channel-fields.ts';
import type { attemptSchema, channelSchema } from '../api/schemas.ts';
import type { ApiFlaw } from './call.ts';
import { flawOf, TextField, type Typed } from './form.tsx';
import { Time } from './time.tsx';

export type ShownChannel = z.infer<typeof channelSchema>;
type Attempt = z.infer<typeof attemptSchema>;

const labelOf = (kind: string): string => channelKinds.get(kind)?.label ?? kind;

/** Where a channel leads, as far as it may be shown. */
function addressOf(channel: ShownChannel): string {
  const fields = channelKinds.get(channel.kind)?.fields ?? [];
  const shown = fields
    .map(({ name }) => channel[name])
    .filter((value): value is string => typeof value === 'string' && value !== '');
  return shown[0] ?? '';
}

export const ChannelTable: FC<{ channels: readonly ShownChannel[]; zone: Zone; href: (slug: string) => string }> = ({
  channels,
  zone,
  href,
}) => (
  <div class="card flush">
    <table class="folds">
      <thead>
        <tr>
          <th scope="col">Channel</th>
          <th scope="col">Kind</th>
          <th scope="col">Goes to</th>
          <th scope="col">Gets</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {channels.map((channel) => (
          <tr class={channel.dead_since === null ? '' : 'is-trouble'}>
            <th scope="row">
              <a href={href(channel.slug)}>{channel.slug}</a>
            </th>
            <td>{labelOf(channel.kind)}</td>
            <td class="mono">{addressOf(channel)}</td>
            <td class="soft">{getsText(channel)}</td>
            <td>
              <Standing channel={channel} zone={zone} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Standing: FC<{ channel: ShownChannel; zone: Zone }> = ({
  channel: { dead_since: since, last_failure: failure },
  zone,
}) => {
  if (since !== null)
    return (
      <span class="bad">
        Nothing gets through since <Time at={Date.parse(since)} zone={zone} />
      </span>
    );
  return failure === null ? <span class="ok">Well</span> : <span class="late">Last attempt: {failure}</span>;
};

function getsText({ routes, operator }: ShownChannel): string {
  const parts = [
    ...(routes?.kinds ? [routes.kinds.join(', ').replaceAll('_', ' ')] : []),
    ...(routes?.tags ? [`jobs tagged ${routes.tags.join(' or ')}`] : []),
  ];
  const gets = routes === null ? 'what jobs send it' : `${parts.join(' of ')}, and what jobs send it by name`;
  return operator ? `${gets}; notices about Rollcall itself` : gets;
}

export const ChannelFacts: FC<{ channel: ShownChannel; zone: Zone }> = ({ channel, zone }) => (
  <dl class="facts card">
    <dt>Kind</dt>
    <dd>
      {labelOf(channel.kind)} · <a href={`/docs/channels/${channel.kind}`}>how to set it up</a>
    </dd>
    <dt>Goes to</dt>
    <dd class="mono">{addressOf(channel)}</dd>
    <dt>Gets</dt>
    <dd>{getsText(channel)}</dd>
    <dt>Reminders</dt>
    <dd>{channel.remind_every === null ? 'none' : `every ${channel.remind_every} while an incident is open`}</dd>
    <dt>State</dt>
    <dd>
      <Standing channel={channel} zone={zone} />
    </dd>
    {channel.last_failure === null || channel.dead_since === null ? null : (
      <>
        <dt>Because</dt>
        <dd>{channel.last_failure}</dd>
      </>
    )}
    <dt>Made</dt>
    <dd>
      <Time at={Date.parse(channel.created_at)} zone={zone} />
    </dd>
  </dl>
);

const OUTCOMES: Readonly<Record<string, readonly [string, string]>> = {
  delivered: ['delivered', 'ok'],
  retry: ['will be tried again', 'late'],
  rejected: ['refused', 'bad'],
};

export const AttemptTable: FC<{
  attempts: readonly Attempt[];
  zone: Zone;
  incidentHref: (id: number) => string;
}> = ({ attempts, zone, incidentHref }) =>
  attempts.length === 0 ? (
    <p class="soft">Nothing has been sent yet.</p>
  ) : (
    <div class="card flush">
      <table class="folds">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Outcome</th>
            <th scope="col">What was answered</th>
            <th scope="col">About</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map(({ at, outcome, reason, incidents, notices }) => {
            const [word, look] = OUTCOMES[outcome] ?? [outcome, ''];
            return (
              <tr>
                <td class="tight">
                  <Time at={Date.parse(at)} zone={zone} />
                </td>
                <td class={`tight ${look}`}>{word}</td>
                <td>{reason ?? ''}</td>
                <td data-name="About">
                  <About incidents={incidents} notices={notices} incidentHref={incidentHref} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );

const MOST_NAMED = 5;

const About: FC<Pick<Attempt, 'incidents' | 'notices'> & { incidentHref: (id: number) => string }> = ({
  incidents,
  notices,
  incidentHref,
}) => {
  if (incidents.length + notices.length === 0) return <>a test</>;
  const more = incidents.length - MOST_NAMED;
  return (
    <>
      {incidents.slice(0, MOST_NAMED).map(({ id, kind, job }, index) => (
        <>
          {index === 0 ? '' : ', '}
          <a href={incidentHref(id)}>
            {job} {kind.replaceAll('_', ' ')}
          </a>
        </>
      ))}
      {more > 0 ? ` and ${more} more` : ''}
      {notices.length === 0 ? null : (
        <span class="soft">{notices.map(({ text }) => text.slice(0, 120)).join(' · ')}</span>
      )}
    </>
  );
};

/** One button a kind. */
export const KindChoice: FC<{ href: (kind: string) => string }> = ({ href }) => (
  <div class="stack-s">
    <p>Where should messages go?</p>
    <ul class="bare row">
      {[...channelKinds].map(([name, { label }]) => (
        <li>
          <a class="button" href={href(name)}>
            {label}
          </a>
        </li>
      ))}
    </ul>
  </div>
);

/** What is said about a secret of a channel. */
function hintOf({ secret, isMade }: { readonly secret: boolean; readonly isMade: boolean }, isNew: boolean) {
  if (secret && !isNew) return { hint: 'Kept as it is when left empty: it is never shown again.' };
  return isMade ? { hint: 'Made for this channel: copy it to the receiver now, it is never shown again.' } : {};
}

/** The fields of a kind, and what every kind takes. */
export const ChannelForm: FC<{
  kind: string;
  typed: Typed;
  errors: readonly ApiFlaw[];
  isNew?: boolean;
  back: string;
}> = ({ kind, typed, errors, isNew, back }) => {
  const known = channelKinds.get(kind);
  const routed = new Set((typed['route_kinds'] ?? '').split(','));
  return (
    <form method="post" class="stack">
      <input type="hidden" name="kind" value={kind} />
      <fieldset class="stack">
        <legend>{labelOf(kind)}</legend>
        {isNew ? (
          <TextField
            name="slug"
            label="Slug"
            value={typed['slug'] ?? kind.replaceAll('_', '-')}
            required
            hint="Its name in jobs and calls: a-z, 0-9, - and _."
            flaw={flawOf(errors, 'slug')}
          />
        ) : null}
        {(known?.fields ?? []).map(({ name, label, secret, required, make }) => (
          <TextField
            name={name}
            label={label}
            value={secret && !isNew ? '' : (typed[name] ?? make?.())}
            type={secret && name !== 'url' && !(isNew && make) ? 'password' : 'text'}
            autocomplete="off"
            required={required && (isNew || !secret)}
            flaw={flawOf(errors, name)}
            {...hintOf({ secret, isMade: make !== undefined }, isNew ?? false)}
          />
        ))}
        <p>
          <a href={`/docs/channels/${kind}`}>How to set it up</a>
        </p>
      </fieldset>
      <fieldset class="stack">
        <legend>What it gets</legend>
        <label class="choice">
          <input type="checkbox" name="operator" {...(typed['operator'] === undefined ? {} : { checked: true })} />
          <span>Also notices about Rollcall itself and about dead channels</span>
        </label>
        <TextField
          name="remind_every"
          label="Remind every"
          value={typed['remind_every']}
          hint="While an incident is open and nobody has acknowledged it: 30m, 4h, 1d. Empty: never."
          flaw={flawOf(errors, 'remind_every')}
        />
        <details {...((typed['route_kinds'] ?? '') + (typed['route_tags'] ?? '') === '' ? {} : { open: true })}>
          <summary>Only some kinds or tags</summary>
          <div class="stack">
            <p class="soft">
              A channel gets what jobs send it. With a rule it gets incidents of these kinds, of jobs with one of these
              tags, whatever the job says.
            </p>
            <div class="row">
              {toldKinds.map((name) => (
                <label class="choice">
                  <input
                    type="checkbox"
                    name="route_kinds"
                    value={name}
                    {...(routed.has(name) ? { checked: true } : {})}
                  />
                  <span>{name.replaceAll('_', ' ')}</span>
                </label>
              ))}
            </div>
            <TextField
              name="route_tags"
              label="Tags"
              value={typed['route_tags']}
              hint="Separated by commas."
              flaw={flawOf(errors, 'routes')}
            />
          </div>
        </details>
      </fieldset>
      <div class="row">
        <button type="submit" class="main">
          {isNew ? 'Add the channel' : 'Save'}
        </button>
        <a class="button" href={back}>
          Cancel
        </a>
      </div>
    </form>
  );
};
