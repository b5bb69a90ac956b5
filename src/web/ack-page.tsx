import { createHash } from 'node:crypto';
import { raw } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import type { IncidentKind } from '../core/message.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #60646c; --line: #d9dce1; --go: #1d5fd0; --on: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #9ba1a6; --line: #33383f; --go: #7fb0ff; --on: #10131a; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 36rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; line-height: 1.3; }
p.soft, .soft, dt { color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; }
dd { margin: 0; }
form { margin: 1.5rem 0; display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; }
form p { flex-basis: 100%; margin: 0; }
button { min-height: 2.75rem; padding: .4rem 1.1rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: var(--ink); font: inherit; cursor: pointer; }
button.main { background: var(--go); border-color: var(--go); color: var(--on); }
a { color: var(--go); }
a:focus-visible, button:focus-visible { outline: 3px solid var(--go); outline-offset: 2px; }
`;

/** No script, no frame, nothing from elsewhere; forms lead only back here, and the address, which is a secret, nowhere. */
export const ACK_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex, nofollow',
  'Cache-Control': 'no-store',
};

const WORDS: Readonly<Record<IncidentKind, string>> = {
  not_started: 'has not started',
  missing: 'did not run',
  late: 'has not finished in time',
  overrun: 'is running too long',
  failed: 'failed',
  expired: 'finished too late to be of use',
  duplicate: 'ran more than once',
  unscheduled: 'ran off schedule',
  backlog: 'owes more runs than it may',
  schedule_error: 'has a schedule that cannot be read',
};

/** An incident as the page of its link shows it; every time is text, with its offset. */
export type ShownIncident = {
  /** Its page for whoever may sign in. */
  readonly path: string;
  readonly jobName: string;
  readonly kind: IncidentKind;
  readonly openedAt: string;
  readonly resolvedAt: string | null;
  readonly acked: { readonly at: string; readonly by: string } | null;
  readonly snoozed: { readonly until: string; readonly by: string } | null;
  readonly runs: readonly { readonly key: string; readonly state: string }[];
  readonly runCount: number;
  readonly tomorrow: { readonly value: string; readonly text: string };
};

const MOST_RUNS = 10;

/** What the incident is, and what can be done about it. Nothing happens before a button is pressed. */
export const AckPage: FC<{ incident: ShownIncident; problem?: string }> = ({ incident, problem }) => {
  const { path, jobName, kind, openedAt, resolvedAt, acked, snoozed } = incident;
  return (
    <Frame title={`${jobName} ${WORDS[kind]}`}>
      {problem === undefined ? null : <p role="alert">{problem}</p>}
      <dl>
        <Fact name="Open since" text={openedAt} />
        {resolvedAt === null ? null : <Fact name="Over since" text={resolvedAt} />}
        {acked === null ? null : <Fact name="Acknowledged" text={`${acked.at} by ${acked.by}`} />}
        {snoozed === null ? null : <Fact name="Snoozed until" text={`${snoozed.until} by ${snoozed.by}`} />}
        <Runs incident={incident} />
      </dl>
      {resolvedAt === null ? <Forms incident={incident} /> : <p>It is over: there is nothing left to do here.</p>}
      <p>
        <a href={path}>Open in Rollcall</a> <span class="soft">for members of the project</span>
      </p>
    </Frame>
  );
};

const Fact: FC<{ name: string; text: string }> = ({ name, text }) => (
  <>
    <dt>{name}</dt>
    <dd>{text}</dd>
  </>
);

const Runs: FC<{ incident: ShownIncident }> = ({ incident: { runs, runCount } }) => {
  if (runs.length === 0) return null;
  const shown = runs.slice(0, MOST_RUNS).map(({ key, state }) => `${key} ${state}`);
  const more = runCount - shown.length;
  return <Fact name="Runs" text={[...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')} />;
};

const Forms: FC<{ incident: ShownIncident }> = ({ incident: { acked, snoozed, tomorrow } }) => (
  <>
    {acked === null ? (
      <form method="post">
        <p>No more reminders. Its end is told, and so is a run that fails anew.</p>
        <button class="main" type="submit" name="do" value="ack">
          Acknowledge
        </button>
      </form>
    ) : null}
    <form method="post">
      <input type="hidden" name="do" value="snooze" />
      <p>Nothing at all until then; if it is still open, one message says so.</p>
      <button type="submit" name="until" value="1h">
        Snooze 1 hour
      </button>
      <button type="submit" name="until" value="4h">
        Snooze 4 hours
      </button>
      <button type="submit" name="until" value={tomorrow.value}>
        Snooze until {tomorrow.text}
      </button>
      {snoozed === null ? null : (
        <button type="submit" name="until" value="off">
          End the snooze
        </button>
      )}
    </form>
  </>
);

/** A page that says one thing. */
export const NotePage: FC<{ title: string; text: string }> = ({ title, text }) => (
  <Frame title={title}>
    <p>{text}</p>
  </Frame>
);

/** The page round what it says. */
export const Frame: FC<{ title: string; children?: Child }> = ({ title, children }) => (
  <>
    {raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <title>{`${title} · Rollcall`}</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <main>
          <h1>{title}</h1>
          {children}
        </main>
        <p class="soft">Rollcall</p>
      </body>
    </html>
  </>
);
