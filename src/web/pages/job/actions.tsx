import { type Context, Hono } from 'hono';
import { Asking } from '../asking.tsx';
import type { ApiAnswer } from '../call.ts';
import type { PageDeps } from '../deps.ts';
import { goTo } from '../flash.ts';
import { notePage } from '../note.tsx';
import { readForm } from '../read-form.ts';
import type { PageEnv } from '../viewer.ts';
import { jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { loadJob } from './load.ts';
import { occurrencePage } from './occurrence.tsx';

/** What a person does to a job, each by a call of the API. */
export function jobActions(deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>()
    .post('/jobs/:slug/pause', (c) => setPause(deps, c, 'pause'))
    .post('/jobs/:slug/resume', (c) => setPause(deps, c, 'resume'))
    .get('/jobs/:slug/delete', (c) => deletionPage(deps, c))
    .post('/jobs/:slug/delete', (c) => deleteJob(deps, c))
    .post('/jobs/:slug/backlog', (c) => decide(deps, c))
    .post('/jobs/:slug/incidents/:id/ack', (c) => tellIncident(deps, c, 'ack'))
    .post('/jobs/:slug/incidents/:id/snooze', (c) => tellIncident(deps, c, 'snooze'))
    .post('/jobs/:slug/occurrences/:key/settle', (c) => settle(deps, c));
}

const apiPath = (c: Context): string => `/jobs/${encodeURIComponent(c.req.param('slug') ?? '')}`;
const pagePath = (c: Context<PageEnv>): string => `/projects/${c.var.project.slug}${apiPath(c)}`;

/** What the API refused, where no form is shown again for it. */
function refusedPage(deps: PageDeps, c: Context<PageEnv>, answer: ApiAnswer<unknown> & { readonly ok: false }) {
  return notePage(deps, c, answer.status === 404 ? 404 : 409, 'Not possible', `It was not done: ${answer.detail}.`);
}

async function setPause(deps: PageDeps, c: Context<PageEnv>, verb: 'pause' | 'resume'): Promise<Response> {
  const answer = await c.var.call('POST', `${apiPath(c)}/${verb}`);
  if (!answer.ok) return refusedPage(deps, c, answer);
  const text =
    verb === 'pause'
      ? 'Paused: what is due until it is resumed is skipped, and nobody is called.'
      : 'Resumed: what is due from now on is expected again.';
  return goTo(c, pagePath(c), text);
}

async function deletionPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const found = await loadJob(deps, c, async () => ({}));
  if (!found) return noSuchJobPage(deps, c);
  const view = jobView(c, found.job);
  const { name } = view.job.json;
  return jobPage(
    deps,
    c,
    view,
    { title: 'Delete' },
    view.mayEdit ? (
      <Asking title={`Delete ${name}?`} verb="Delete this job" back={view.base} isPart>
        <p>
          The job is gone at once, with all its occurrences, runs, pings and incidents. Its ping URL answers 404 from
          then on. This cannot be taken back. To be left in peace for a while, pause it.
        </p>
      </Asking>
    ) : (
      <p class="soft">You are a viewer of this project: an editor can delete it.</p>
    ),
  );
}

async function deleteJob(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const answer = await c.var.call('DELETE', apiPath(c));
  if (!answer.ok) return refusedPage(deps, c, answer);
  return goTo(c, `/projects/${c.var.project.slug}`, `${c.req.param('slug')} is deleted.`);
}

async function decide(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const { decision } = await readForm(c);
  const answer = await c.var.call<{ count: number }>('POST', `${apiPath(c)}/backlog`, { decision });
  if (!answer.ok) return refusedPage(deps, c, answer);
  const { count } = answer.value;
  const what = `${count} ${count === 1 ? 'occurrence' : 'occurrences'}`;
  const text =
    decision === 'run'
      ? `Run: ${what} may be handed out, the oldest first. What is due later counts anew.`
      : `Skip: ${what} ${count === 1 ? 'is' : 'are'} recorded as skipped. What is due later counts anew.`;
  return goTo(c, pagePath(c), text);
}

async function tellIncident(deps: PageDeps, c: Context<PageEnv>, verb: 'ack' | 'snooze'): Promise<Response> {
  const { until } = await readForm(c);
  const path = `/incidents/${encodeURIComponent(c.req.param('id') ?? '')}/${verb}`;
  const answer = await c.var.call('POST', path, verb === 'ack' ? undefined : { until });
  if (!answer.ok) return refusedPage(deps, c, answer);
  const text =
    verb === 'ack'
      ? 'Acknowledged: nobody is reminded of it any more. Its end is told.'
      : 'Snoozed: nothing of it goes out before.';
  return goTo(c, pagePath(c), text);
}

async function settle(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const { state = '', note = '', back } = await readForm(c);
  const key = c.req.param('key') ?? '';
  const path = `${apiPath(c)}/occurrences/${encodeURIComponent(key)}`;
  const answer = await c.var.call('PATCH', path, { state, note });
  if (answer.ok) {
    const text = `${key.replace('T', ' ')} is settled as ${state === 'skipped' ? 'skipped' : 'done'}.`;
    return goTo(c, back === 'job' ? pagePath(c) : `${pagePath(c)}/occurrences/${key}`, text);
  }
  if (answer.status !== 400) return refusedPage(deps, c, answer);
  return occurrencePage(deps, c, { state, note, detail: answer.detail, errors: answer.errors });
}
