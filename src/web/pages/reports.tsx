import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import type { reportNumbersSchema, reportSchema } from '../api/report-schemas.ts';
import type { channelSchema } from '../api/schemas.ts';
import { Asking } from './asking.tsx';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { Refusal, type Typed } from './form.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { ReportForm } from './report-form.tsx';
import { ReportNumbers } from './report-numbers.tsx';
import { Time } from './time.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

type Report = z.infer<typeof reportSchema>;
type Numbers = z.infer<typeof reportNumbersSchema>;
type PageContext = Context<PageEnv>;

/** Weekly and monthly mails: what they are, what they would say now, and sending one again. */
export function reportPages(deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>()
    .get('/reports', (c) => showList(deps, c))
    .get('/reports/+new', (c) => showForm(deps, c, { typed: {}, errors: [] }))
    .post('/reports/+new', (c) => save(deps, c, null))
    .get('/reports/:slug', (c) => showOne(deps, c))
    .get('/reports/:slug/edit', (c) => showEdit(deps, c))
    .post('/reports/:slug/edit', (c) => save(deps, c, c.req.param('slug')))
    .post('/reports/:slug/send', (c) => sendNow(c))
    .get('/reports/:slug/delete', (c) => askToRemove(deps, c))
    .post('/reports/:slug/delete', (c) => remove(deps, c));
}

const frame = (deps: PageDeps, c: PageContext) => ({
  assets: deps.assets,
  viewer: c.var.viewer,
  project: c.var.project,
  section: 'reports' as const,
});
const pathOf = (c: PageContext, rest = ''): string => `/projects/${c.var.project.slug}/reports${rest}`;
const mayEdit = (c: PageContext): boolean => mayAs(c.var.project.role, 'editor');
const forbidden = (deps: PageDeps, c: PageContext) =>
  notePage(deps, c, 403, 'Not allowed', 'You are a viewer of this project: an owner can make you an editor.');
const oneOf = (c: PageContext): string => encodeURIComponent(c.req.param('slug') ?? '');

async function showList(deps: PageDeps, c: PageContext): Promise<Response> {
  const list = await c.var.call<{ readonly reports: readonly Report[] }>('GET', '/reports?limit=500');
  const reports = list.ok ? list.value.reports : [];
  return answerPage(
    c,
    <Page title="Reports" {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>Reports</h1>
        {mayEdit(c) ? (
          <a class="button main" href={pathOf(c, '/+new')}>
            Add a report
          </a>
        ) : null}
      </div>
      {reports.length === 0 ? (
        <div class="empty stack-s">
          <h2>No reports yet</h2>
          <p>
            A report is a mail about a week or a month: how much ran on time, the worst jobs, what is owed, who changed
            a schedule, which clock changes are ahead. <a href="/docs/reports">More about reports</a>
          </p>
        </div>
      ) : (
        <div class="card flush">
          <table class="folds">
            <thead>
              <tr>
                <th scope="col">Report</th>
                <th scope="col">Every</th>
                <th scope="col">To</th>
                <th scope="col">About</th>
                <th scope="col">Next</th>
              </tr>
            </thead>
            <tbody>
              {reports.map((report) => (
                <tr class={report.warnings.length > 0 ? 'is-late' : ''}>
                  <th scope="row">
                    <a href={pathOf(c, `/${report.slug}`)}>{report.slug}</a>
                    {report.warnings.map((warning) => (
                      <div class="late small">{warning}</div>
                    ))}
                  </th>
                  <td>
                    {report.every}, {report.zone}
                  </td>
                  <td>{report.channels.join(', ')}</td>
                  <td>{report.tags === null ? 'all jobs' : `jobs tagged ${report.tags.join(' or ')}`}</td>
                  <td>{report.next === null ? '' : <Next report={report} c={c} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>,
  );
}

const Next: FC<{ report: Report; c: PageContext }> = ({ report: { next }, c }) =>
  next === null ? null : (
    <>
      {next.period} at <Time at={Date.parse(next.due_at)} zone={c.var.viewerZone} />
    </>
  );

async function showOne(deps: PageDeps, c: PageContext): Promise<Response> {
  const period = c.req.query('period');
  const found = await c.var.call<Report>('GET', `/reports/${oneOf(c)}`);
  if (!found.ok) return notePage(deps, c, 404, 'Nothing here', 'There is no such report in this project.');
  const query = period ? `?period=${encodeURIComponent(period)}` : '';
  const numbers = await c.var.call<Numbers>('GET', `/reports/${oneOf(c)}/preview${query}`);
  const report = found.value;
  return answerPage(
    c,
    <Page title={report.slug} {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>{report.slug}</h1>
        {mayEdit(c) ? (
          <div class="row">
            <form method="post" action={pathOf(c, `/${report.slug}/send`)}>
              <button type="submit">Send the last one now</button>
            </form>
            <a class="button" href={pathOf(c, `/${report.slug}/edit`)}>
              Edit
            </a>
            <a class="button danger" href={pathOf(c, `/${report.slug}/delete`)}>
              Delete
            </a>
          </div>
        ) : null}
      </div>
      {report.warnings.map((warning) => (
        <p class="notice">{warning}</p>
      ))}
      <p class="soft">
        Every {report.every} in {report.zone}, to {report.channels.join(', ')},{' '}
        {report.tags === null ? 'about all jobs' : `about jobs tagged ${report.tags.join(' or ')}`}.{' '}
        {report.next === null ? null : (
          <>
            Next: <Next report={report} c={c} />.
          </>
        )}
      </p>
      <form method="get" class="row">
        <label for="period">Period</label>
        <input
          id="period"
          name="period"
          size={10}
          value={period ?? ''}
          placeholder={report.every === 'week' ? '2026-W48' : '2026-11'}
        />
        <button type="submit">Show</button>
      </form>
      {numbers.ok ? (
        <ReportNumbers
          numbers={numbers.value}
          zone={c.var.viewerZone}
          jobHref={(slug) => `/projects/${c.var.project.slug}/jobs/${slug}`}
        />
      ) : (
        <p class="wrong">{numbers.detail}</p>
      )}
    </Page>,
  );
}

type FormState = {
  readonly typed: Typed;
  readonly errors: readonly ApiFlaw[];
  readonly detail?: string;
  /** null: a new one. */
  readonly slug?: string | undefined;
};

async function showEdit(deps: PageDeps, c: PageContext): Promise<Response> {
  const found = await c.var.call<Report>('GET', `/reports/${oneOf(c)}`);
  if (!found.ok) return notePage(deps, c, 404, 'Nothing here', 'There is no such report in this project.');
  const { every, zone, channels, tags, slug } = found.value;
  return showForm(deps, c, {
    typed: { every, zone, channels: channels.join(','), tags: (tags ?? []).join(', ') },
    errors: [],
    slug,
  });
}

/** A form that nobody could send. */
const noEmailPage = (deps: PageDeps, c: PageContext, title: string) =>
  answerPage(
    c,
    <Page title={title} {...frame(deps, c)}>
      <h1>{title}</h1>
      <p class="notice">
        Reports go by e-mail only:{' '}
        <a href={`/projects/${c.var.project.slug}/channels/+new?kind=email`}>add an e-mail channel</a> first.
      </p>
    </Page>,
  );

async function showForm(deps: PageDeps, c: PageContext, { typed, errors, detail, slug }: FormState): Promise<Response> {
  const list = await c.var.call<{ readonly channels: readonly z.infer<typeof channelSchema>[] }>(
    'GET',
    '/channels?limit=500',
  );
  const emails = (list.ok ? list.value.channels : [])
    .filter(({ kind }) => kind === 'email')
    .map((channel) => channel.slug);
  const title = slug === undefined ? 'Add a report' : `Edit ${slug}`;
  if (slug === undefined && emails.length === 0) return noEmailPage(deps, c, title);
  return answerPage(
    c,
    <Page title={title} {...frame(deps, c)}>
      <h1>{title}</h1>
      <Refusal detail={detail} />
      <ReportForm
        typed={typed}
        errors={errors}
        emails={emails}
        isNew={slug === undefined}
        back={pathOf(c, slug === undefined ? '' : `/${slug}`)}
      />
    </Page>,
    detail === undefined ? 200 : 400,
  );
}

async function save(deps: PageDeps, c: PageContext, existing: string | null): Promise<Response> {
  const form = await c.req.formData();
  const text = (name: string): string => String(form.get(name) ?? '').trim();
  const slug = existing ?? text('slug');
  const channels = form.getAll('channels').map(String);
  const tags = text('tags')
    .split(',')
    .flatMap((tag) => (tag.trim() === '' ? [] : [tag.trim()]));
  const typed = { slug, every: text('every'), zone: text('zone'), channels: channels.join(','), tags: text('tags') };
  const state = { typed, ...(existing === null ? {} : { slug: existing }) };
  const isTaken = existing === null && (await c.var.call('GET', `/reports/${encodeURIComponent(slug || '-')}`)).ok;
  if (isTaken || slug === '') {
    const message = isTaken ? 'there is a report of this slug already' : 'is required';
    return showForm(deps, c, { ...state, detail: `slug: ${message}`, errors: [{ path: 'slug', message }] });
  }
  const body = { every: typed.every, zone: typed.zone, channels, tags: tags.length === 0 ? null : tags };
  const put = await c.var.call('PUT', `/reports/${encodeURIComponent(slug)}`, body);
  if (!put.ok) return showForm(deps, c, { ...state, detail: put.detail, errors: put.errors });
  return goTo(
    c,
    pathOf(c, `/${slug}`),
    existing === null ? 'The report is there. Below is what it would say now.' : 'Saved.',
  );
}

async function sendNow(c: PageContext): Promise<Response> {
  const sent = await c.var.call<{ readonly period: string; readonly channels: readonly string[] }>(
    'POST',
    `/reports/${oneOf(c)}/send`,
  );
  const text = sent.ok
    ? `${sent.value.period} is on its way to ${sent.value.channels.join(', ')}.`
    : `Not sent: ${sent.detail}`;
  return goTo(c, pathOf(c, `/${oneOf(c)}`), text);
}

async function askToRemove(deps: PageDeps, c: PageContext): Promise<Response> {
  if (!mayEdit(c)) return forbidden(deps, c);
  const found = await c.var.call<Report>('GET', `/reports/${oneOf(c)}`);
  if (!found.ok) return notePage(deps, c, 404, 'Nothing here', 'There is no such report in this project.');
  const { slug, every, channels } = found.value;
  return answerPage(
    c,
    <Page title={`Delete ${slug}`} {...frame(deps, c)}>
      <Asking title={`Delete ${slug}?`} verb="Delete this report" back={pathOf(c, `/${slug}`)}>
        <p>
          {channels.join(', ')} {channels.length === 1 ? 'gets' : 'get'} no mail about a {every} by this report any
          more. The jobs, their history and the channels stay. This cannot be taken back.
        </p>
      </Asking>
    </Page>,
  );
}

async function remove(deps: PageDeps, c: PageContext): Promise<Response> {
  const gone = await c.var.call('DELETE', `/reports/${oneOf(c)}`);
  return gone.ok ? goTo(c, pathOf(c), 'The report is deleted.') : notePage(deps, c, 404, 'Nothing here', gone.detail);
}
