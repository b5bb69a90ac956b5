import type { Context } from 'hono';
import { raw } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import type { Assets } from '../pages/assets.ts';

/** Nothing runs here, nothing comes from elsewhere. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors";

export const COMMON_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'same-origin' };
const UNLISTED = { 'X-Robots-Tag': 'noindex, nofollow' };

/** Of a page: only an embedded one may stand in frames, of whoever wants it. */
export function pageHeaders({ isEmbedded, indexable }: { readonly isEmbedded: boolean; readonly indexable: boolean }) {
  return {
    ...COMMON_HEADERS,
    ...(indexable ? {} : UNLISTED),
    'Content-Security-Policy': `${POLICY} ${isEmbedded ? '*' : "'none'"}`,
  };
}

/** A public page: no navigation, no session, no script. */
export const PublicFrame: FC<{
  title: string;
  assets: Assets;
  head?: Child;
  indexable?: boolean;
  isEmbedded?: boolean;
  children?: Child;
}> = ({ title, assets, head, indexable, isEmbedded, children }) => (
  <>
    {raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        {indexable ? null : <meta name="robots" content="noindex, nofollow" />}
        <title>{title}</title>
        <link rel="icon" href={assets.url('icon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.url('app.css')} />
        {head}
      </head>
      <body class={isEmbedded ? 'public embedded' : 'public'}>{children}</body>
    </html>
  </>
);

/** What stands where there is no page, and where there is one that needs a password: nobody can tell one from the other. */
export async function answerDoor(
  c: Context,
  { assets, path }: { readonly assets: Assets; readonly path: string },
  problem?: { readonly status: 403 | 429; readonly text: string },
): Promise<Response> {
  const page = (
    <PublicFrame title="Status page" assets={assets}>
      <main id="main" class="narrow stack">
        <h1>No public page here</h1>
        <p>If you were given a password for a status page at this address, enter it. Else check the address.</p>
        {problem ? (
          <p class="trouble" role="alert">
            {problem.text}
          </p>
        ) : null}
        <form method="post" action={path} class="stack-s">
          <label for="password">Password</label>
          <input
            id="password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
            maxlength={200}
          />
          <div>
            <button class="main" type="submit">
              Show the page
            </button>
          </div>
        </form>
      </main>
    </PublicFrame>
  );
  return c.html(page, problem?.status ?? 404, {
    ...pageHeaders({ isEmbedded: false, indexable: false }),
    'Cache-Control': 'private, no-store',
  });
}

/** One sentence for whoever looks while nothing can be shown. */
export async function answerNote(
  c: Context,
  assets: Assets,
  { status, title, text }: { readonly status: 413 | 503; readonly title: string; readonly text: string },
): Promise<Response> {
  const page = (
    <PublicFrame title={title} assets={assets}>
      <main id="main" class="narrow stack">
        <h1>{title}</h1>
        <p>{text}</p>
      </main>
    </PublicFrame>
  );
  return c.html(page, status, {
    ...pageHeaders({ isEmbedded: false, indexable: false }),
    'Cache-Control': 'private, no-store',
  });
}
