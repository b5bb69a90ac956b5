import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { createApiKey, type ListedKey, listKeys, renewPingKey, revokeKey } from '../../../store/api-keys.ts';
import type { KeyScope } from '../../../store/keys.ts';
import { Asking } from '../asking.tsx';
import type { ApiFlaw } from '../call.ts';
import type { PageDeps } from '../deps.ts';
import { goTo } from '../flash.ts';
import { flawOf, TextField } from '../form.tsx';
import { Secret } from '../secret.tsx';
import { Ago, Time } from '../time.tsx';
import type { PageEnv } from '../viewer.ts';
import { answerSettings, settingsPath } from './frame.tsx';

const SCOPES: readonly (readonly [KeyScope, string])[] = [
  ['read', 'read: everything the API tells but ping addresses'],
  ['write', 'write: every change, and reading'],
  ['ping', 'ping: it may stand in a ping URL in place of the ping key'],
];

/** How long the ping keys before a new one go on working, in seconds. */
const OVERLAPS: readonly (readonly [number, string])[] = [
  [0, 'no longer: from now on only the new one works'],
  [86_400, 'one more day'],
  [7 * 86_400, 'seven more days'],
  [30 * 86_400, '30 more days'],
];
const USUAL_OVERLAP = 7 * 86_400;

/** API keys and the ping key. What a key is, is seen once, when it is made. */
export function keyPages({ assets, database, publicUrl }: PageDeps): Hono<PageEnv> {
  const actOf = (c: Context<PageEnv>) => ({ projectId: c.var.project.id, actor: c.var.viewer.email });
  const show = async (c: Context<PageEnv>, more: Partial<Shown> = {}, status: 200 | 400 = 200) => {
    const { keys, now } = await database.transaction(async (tx) => ({
      keys: await listKeys(tx, c.var.project.id),
      now: tx.now,
    }));
    const page = <Keys base={settingsPath(c, '/keys')} zone={c.var.viewerZone} now={now} keys={keys} {...more} />;
    return answerSettings(c, { assets, part: '/keys', status }, page);
  };
  return new Hono<PageEnv>()
    .get('/settings/keys', (c) => show(c))
    .post('/settings/keys', async (c) => {
      const { name: typed, scopes: given } = await c.req.parseBody({ all: true });
      const name = typeof typed === 'string' ? typed.trim() : '';
      const scopes = SCOPES.map(([scope]) => scope).filter((scope) => [given].flat().includes(scope));
      const errors = keyFlaws(name, scopes);
      if (errors.length > 0) return show(c, { errors, typed: { name, scopes } }, 400);
      const key = await database.transaction((tx) => createApiKey(tx, actOf(c), { name, scopes }));
      return show(c, { made: [['new-key', `API key ${name}`, key]] });
    })
    .post('/settings/keys/ping', async (c) => {
      const { overlap } = await c.req.parseBody();
      const seconds = OVERLAPS.find(([each]) => String(each) === overlap)?.[0] ?? USUAL_OVERLAP;
      const key = await database.transaction((tx) => renewPingKey(tx, actOf(c), seconds));
      const line = `curl -fsS '${publicUrl}/ping/${key}/my-first-job?create=1'`;
      return show(c, {
        made: [
          ['new-ping-key', 'Ping key', key],
          ['new-ping-line', 'A ping with it', line],
        ],
      });
    })
    .get('/settings/keys/:id/revoke', async (c) => {
      const { keys, now } = await database.transaction(async (tx) => ({
        keys: await listKeys(tx, c.var.project.id),
        now: tx.now,
      }));
      const listed = keys.find(({ id }) => String(id) === c.req.param('id'));
      const back = settingsPath(c, '/keys');
      if (!listed) return goTo(c, back, 'This key worked no more already.');
      const page = <AskToRevoke {...{ listed, back, now }} zone={c.var.viewerZone} />;
      return answerSettings(c, { assets, part: '/keys' }, page);
    })
    .post('/settings/keys/:id/revoke', async (c) => {
      const id = Number(c.req.param('id'));
      const isDone = Number.isSafeInteger(id) && (await database.transaction((tx) => revokeKey(tx, actOf(c), id)));
      return goTo(c, settingsPath(c, '/keys'), isDone ? 'The key is revoked.' : 'This key worked no more already.');
    });
}

function keyFlaws(name: string, scopes: readonly KeyScope[]): readonly ApiFlaw[] {
  const isName = name.length > 0 && name.length <= 60;
  return [
    ...(isName ? [] : [{ path: 'name', message: 'say what it is for, in 1 to 60 characters' }]),
    ...(scopes.length > 0 ? [] : [{ path: 'scopes', message: 'choose at least one' }]),
  ];
}

type Shown = {
  readonly base: string;
  readonly zone: Zone;
  readonly now: Instant;
  readonly keys: readonly ListedKey[];
  readonly typed?: { readonly name: string; readonly scopes: readonly KeyScope[] };
  readonly errors?: readonly ApiFlaw[];
  /** What was just made: its id on the page, its name, itself. */
  readonly made?: readonly (readonly [string, string, string])[];
};

const Keys: FC<Shown> = ({ base, zone, now, keys, typed = { name: '', scopes: ['read'] }, errors = [], made = [] }) => (
  <>
    {made.length === 0 ? null : (
      <div class="notice stack-s">
        <p>Shown this once: copy it now. Only its hash is kept.</p>
        {made.map(([id, label, value]) => (
          <Secret id={id} label={label} value={value} />
        ))}
      </div>
    )}
    <KeyTable title="API keys" base={base} zone={zone} now={now} keys={keys.filter(({ kind }) => kind === 'api')} />
    <form method="post" action={base} class="card stack">
      <h2>A new API key</h2>
      <TextField
        name="name"
        label="What for"
        hint="The audit log names it: nightly deploy, Grafana, …"
        value={typed.name}
        flaw={flawOf(errors, 'name')}
        required
      />
      <fieldset>
        <legend>It may</legend>
        {SCOPES.map(([scope, text]) => (
          <label class="choice">
            <input type="checkbox" name="scopes" value={scope} checked={typed.scopes.includes(scope)} /> {text}
          </label>
        ))}
        {flawOf(errors, 'scopes') ? <span class="wrong">{flawOf(errors, 'scopes')}</span> : null}
      </fieldset>
      <p>
        <button type="submit">Make the key</button>
      </p>
    </form>
    <KeyTable title="Ping keys" base={base} zone={zone} now={now} keys={keys.filter(({ kind }) => kind === 'ping')} />
    <form method="post" action={`${base}/ping`} class="card stack">
      <h2>A new ping key</h2>
      <p class="soft">It stands in ping addresses with the slug of a job. Addresses with a uuid do not change.</p>
      <div class="field">
        <label for="f-overlap">Those before work</label>
        <select id="f-overlap" name="overlap">
          {OVERLAPS.map(([seconds, text]) => (
            <option value={String(seconds)} selected={seconds === USUAL_OVERLAP}>
              {text}
            </option>
          ))}
        </select>
      </div>
      <p>
        <button type="submit">Make a new ping key</button>
      </p>
    </form>
  </>
);

type TableProps = { title: string; base: string; zone: Zone; now: Instant; keys: readonly ListedKey[] };

const KeyTable: FC<TableProps> = ({ title, base, zone, now, keys }) => (
  <>
    <h2>{title}</h2>
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">May</th>
            <th scope="col">Made</th>
            <th scope="col">Last used</th>
            <th scope="col">
              <span class="unseen">Revoke</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.length === 0 ? (
            <tr>
              <td colspan={5} class="soft">
                None works.
              </td>
            </tr>
          ) : (
            keys.map((key) => <KeyRow base={base} zone={zone} now={now} listed={key} />)
          )}
        </tbody>
      </table>
    </div>
  </>
);

const KeyRow: FC<{ base: string; zone: Zone; now: Instant; listed: ListedKey }> = ({ base, zone, now, listed }) => (
  <tr>
    <td>
      {listed.name === '' ? null : <strong>{listed.name} </strong>}
      <code>{listed.hint}…</code>
    </td>
    <td data-name="May">{listed.kind === 'ping' ? 'ping' : listed.scopes.join(', ')}</td>
    <td data-name="Made">
      <Time at={listed.createdAt} zone={zone} />
      {listed.createdBy === '' ? null : <span class="small soft"> {listed.createdBy}</span>}
    </td>
    <td data-name="Last used">
      <LastUsed listed={listed} zone={zone} now={now} />
    </td>
    <td class="tight">
      <a class="button small danger" href={`${base}/${listed.id}/revoke`}>
        Revoke<span class="unseen"> {listed.name || listed.hint}</span>
      </a>
    </td>
  </tr>
);

const AskToRevoke: FC<{ listed: ListedKey; back: string; zone: Zone; now: Instant }> = ({
  listed,
  back,
  zone,
  now,
}) => {
  const isPing = listed.kind === 'ping';
  const named = `${isPing ? 'ping' : 'API'} key ${listed.name === '' ? '' : `${listed.name} `}(${listed.hint}…)`;
  return (
    <Asking title={`Revoke ${named}?`} verb="Revoke this key" back={back} isPart>
      <p>
        Whoever uses it is refused from now on{isPing ? ', and the runs they report by it count as missing' : ''}. This
        cannot be taken back: a new key is another one.
      </p>
      {isPing ? null : (
        <p class="soft">
          Last used: <LastUsed listed={listed} zone={zone} now={now} />
        </p>
      )}
    </Asking>
  );
};

const LastUsed: FC<{ listed: ListedKey; zone: Zone; now: Instant }> = ({ listed, zone, now }) => {
  if (listed.expiresAt !== null)
    return (
      <>
        ends <Time at={listed.expiresAt} zone={zone} />
      </>
    );
  if (listed.kind === 'ping') return <span class="soft">not kept</span>;
  return listed.lastUsedAt === null ? <span class="soft">never</span> : <Ago at={listed.lastUsedAt} now={now} />;
};
