import type { Context } from 'hono';
import type { PageDeps } from '../deps.ts';
import type { PageEnv } from '../viewer.ts';
import { Copy } from './copy.tsx';
import { jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { loadJob } from './load.ts';
import { pingUrlOf } from './pay.ts';
import { snippetsOf } from './snippets.ts';

/** How this job reports, ready to paste. */
export async function snippetsPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const found = await loadJob(deps, c, async () => ({}));
  if (!found) return noSuchJobPage(deps, c);
  const view = jobView(c, found.job);
  const { slug, definition } = view.job.stored;
  const snippets = snippetsOf({ slug, definition, pingUrl: pingUrlOf(view), url: deps.publicUrl });
  return jobPage(
    deps,
    c,
    view,
    { tab: 'snippets', title: 'How to ping' },
    <section class="stack" aria-labelledby="snippets">
      <h2 id="snippets">How to ping</h2>
      {view.mayEdit ? (
        <>
          <p>
            This address is the job's own, and a secret: whoever has it can report runs. Alone it means success;{' '}
            <code>/start</code>, <code>/fail</code>, <code>/log</code> or an exit code after it say what else happened.
          </p>
          <Copy id="ping-url" text={pingUrlOf(view)} label="the ping URL" />
        </>
      ) : (
        <p>
          The ping URL is a secret that editors see here. In these snippets it is <code>$PING_URL</code>.
        </p>
      )}
      <div class="card flush snippets">
        {snippets.map(({ id, name, says, text }, i) => (
          <details name="snippet" id={`how-${id}`} open={i === 0}>
            <summary>{name}</summary>
            <div class="stack-s">
              <p class="small soft">{says}</p>
              <Copy id={`snippet-${id}`} text={text} label={name} />
            </div>
          </details>
        ))}
      </div>
      <p class="small soft">
        All parameters and answers: <a href="/docs/pinging">Pinging</a>, and for <code>rollcall exec</code>{' '}
        <a href="/docs/exec">exec</a>.
      </p>
    </section>,
  );
}
