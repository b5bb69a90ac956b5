import { createHash } from 'node:crypto';
import { Hono } from 'hono';
import { raw } from 'hono/html';
import type { FC } from 'hono/jsx';
import { type Health, isVital, type ReadHealth } from './health.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #60646c; --line: #d9dce1; --good: #18794e; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #9ba1a6; --line: #33383f; --good: #4cc38a; --bad: #ff8b7e; } }
body { margin: 3rem auto; padding: 0 1rem; max-width: 42rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
a { color: inherit; }
.good { color: var(--good); } .bad { color: var(--bad); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); font-weight: normal; vertical-align: top; }
td { color: var(--soft); }
code { font-size: .9em; overflow-wrap: anywhere; }
`;

/** No script, no frame, nothing from elsewhere; the one style sheet by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex, nofollow',
  'Cache-Control': 'no-store',
};

/** GET /: what this is and whether it is well. GET /robots.txt: keep out. */
export function homePage(readHealth: ReadHealth, publicUrl: string): Hono {
  return new Hono()
    .get('/', async (c) => c.html(<Home health={await readHealth()} publicUrl={publicUrl} />, 200, HEADERS))
    .get('/robots.txt', (c) => c.text('User-agent: *\nDisallow: /\n'));
}

/** A cross only for what turns Rollcall red; the rest is worth reading, and no alarm. */
function markOf(check: Health['checks'][number]): readonly [mark: string, look: string] {
  if (check.ok) return ['✓', 'good'];
  return isVital(check) ? ['✗', 'bad'] : ['i', 'note'];
}

const Home: FC<{ health: Health; publicUrl: string }> = ({ health, publicUrl }) => (
  <>
    {raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Rollcall</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <h1>Rollcall</h1>
        <p>
          A dead-man's switch for scheduled jobs: it knows every run that should happen, and tells people when one does
          not.
        </p>
        <h2 class={health.status === 'ok' ? 'good' : 'bad'}>
          {health.status === 'ok' ? 'Rollcall itself is well' : 'Rollcall itself is not well'}
        </h2>
        <table>
          {health.checks.map((check) => {
            const [mark, look] = markOf(check);
            return (
              <tr>
                <th scope="row" class={look}>
                  {mark} {check.name.replaceAll('_', ' ')}
                </th>
                <td>{check.detail}</td>
              </tr>
            );
          })}
        </table>
        <h2>Use it</h2>
        <p>
          Jobs report to <code>{publicUrl}/ping/KEY/JOB</code>. Everything else goes through the{' '}
          <a href="/api/v1/docs">API</a> (<a href="/api/v1/openapi.json">OpenAPI 3.1</a>).
        </p>
      </body>
    </html>
  </>
);
