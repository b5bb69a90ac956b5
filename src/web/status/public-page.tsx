import type { FC } from 'hono/jsx';
import type { PublicStatus, ShownGroup, ShownJob } from '../../engine/status-pages-view.ts';
import type { Share } from '../../store/shares.ts';
import type { Assets } from '../pages/assets.ts';
import { PublicFrame } from './frame.tsx';
import { Moment } from './moment.tsx';
import { PublicGlyph, PublicLegend, PublicRoll, RollShapes } from './public-roll.tsx';
import { OwnHealth, PastIncidents, PlannedMaintenance } from './public-sections.tsx';
import type { Shown } from './representation.ts';
import { leftOut, type Overall, overallOf, STATUS_WORDS, shareText } from './words.ts';

type PageProps = { shown: Shown; assets: Assets };

/** The page as the rest of the company reads it. */
export const PublicPage: FC<PageProps> = ({ shown, assets }) => {
  const { view, page, base, key } = shown;
  return (
    <PublicFrame title={view.title} assets={assets} indexable={isListed(shown)} head={<FeedLinks shown={shown} />}>
      <RollShapes />
      <main id="main" class="stack-l">
        <header class="stack-s">
          <h1>{view.title}</h1>
          {view.text === '' ? null : <p class="lines">{view.text}</p>}
        </header>
        <Verdict shown={shown} />
        {view.groups.map((group) => (
          <Group group={group} shown={shown} />
        ))}
        {view.hidden > 0 ? <p class="soft">{view.hidden} more jobs are not shown: a page shows 200.</p> : null}
        <details class="small soft">
          <summary>What the shapes mean</summary>
          <PublicLegend />
        </details>
        <PlannedMaintenance shown={shown} />
        <PastIncidents shown={shown} />
        <OwnHealth shown={shown} />
      </main>
      <footer class="foot">
        <span>Kept by Rollcall</span>
        <a href={`${base}/feed.atom${key}`}>Atom feed</a>
        <a href={`${base}/feed.json${key}`}>JSON feed</a>
        <a href={`${base}/calendar.ics${key}`}>Calendar</a>
        <a href={`${base}/status.json${key}`}>Status as JSON</a>
        {page.passwordHash === null ? null : <span>Whoever has the address of a feed can read it.</span>}
      </footer>
    </PublicFrame>
  );
};

/** The same for a frame in somebody else's page: how it stands, and no more. */
export const EmbeddedPage: FC<PageProps> = ({ shown, assets }) => {
  const { view, url } = shown;
  return (
    <PublicFrame title={view.title} assets={assets} isEmbedded>
      <RollShapes />
      <main id="main" class="stack-s">
        <h1>
          <a href={url} target="_blank" rel="noopener">
            {view.title}
          </a>
        </h1>
        <Verdict shown={shown} />
        <ul class="bare">
          {view.groups.flatMap(({ jobs }) =>
            jobs.map(({ name, status }) => (
              <li class="row spread">
                <span>{name}</span> <StatusWord status={status} />
              </li>
            )),
          )}
        </ul>
      </main>
    </PublicFrame>
  );
};

/** Nobody wants a page with a password in a search engine. */
export const isListed = ({ page }: Pick<Shown, 'page'>): boolean =>
  page.definition.indexable && page.passwordHash === null;

const FeedLinks: FC<{ shown: Shown }> = ({ shown: { view, base, key, url, page } }) => (
  <>
    {page.passwordHash === null ? <link rel="canonical" href={url} /> : null}
    <link rel="alternate" type="application/atom+xml" href={`${base}/feed.atom${key}`} title={view.title} />
    <link rel="alternate" type="application/feed+json" href={`${base}/feed.json${key}`} title={view.title} />
  </>
);

const VERDICTS: Readonly<Record<Overall['status'], readonly [look: string, status: PublicStatus]>> = {
  ok: ['ok', 'up'],
  trouble: ['bad', 'down'],
  unknown: ['unknown', 'unknown'],
  empty: ['soft', 'new'],
};

const Verdict: FC<{ shown: Shown }> = ({ shown: { view, isStale } }) => {
  const overall = overallOf(view.groups);
  const [look, status] = VERDICTS[overall.status];
  return (
    <section class={`verdict ${look}`} aria-label="How it stands">
      <p class="says">
        <PublicGlyph state={STATUS_WORDS[status][1]} /> {overall.text}
        {overall.status !== 'trouble' && overall.paused > 0 ? <small>, {overall.paused} paused</small> : null}
      </p>
      <p class="small soft">
        Data as of <Moment at={view.asOf} shown={view} />, times in {view.zone.name}
      </p>
      {isStale ? (
        <p class="small bad">Rollcall cannot reach its database right now: this is how it stood then.</p>
      ) : null}
      <Deafness shown={view} />
    </section>
  );
};

/** Said at once, because until it is over nothing else on the page can be trusted. */
const Deafness: FC<{ shown: Shown['view'] }> = ({ shown }) => {
  const { trouble, lagMs, lastHeard } = shown.hearing;
  if (trouble === null) return null;
  if (trouble === 'behind')
    return <p class="small bad">Rollcall is {Math.round((lagMs ?? 0) / 1000)} s behind in judging what it hears.</p>;
  if (trouble === 'clock')
    return <p class="small bad">Rollcall does not trust its clock right now, and judges nothing until it does.</p>;
  return (
    <p class="small bad">
      Rollcall itself hears nothing right now
      {lastHeard === null ? null : (
        <>
          , since <Moment at={lastHeard} shown={shown} />
        </>
      )}
      : runs since then are not known yet.
    </p>
  );
};

const Group: FC<{ group: ShownGroup; shown: Shown }> = ({ group, shown }) => (
  <section class="stack-s" aria-labelledby={`g-${group.id}`}>
    <div class="row spread baseline">
      <h2 id={`g-${group.id}`}>{group.name}</h2>
      <small class="soft">{overallOf([group]).text}</small>
    </div>
    {group.jobs.length === 0 ? null : (
      <div class="card flush">
        <table class="jobs">
          <thead>
            <tr>
              <th>Job</th>
              <th>Runs, and what is to come</th>
              <th>Last success</th>
              <th>Next expected</th>
              <th>
                <abbr title="On time in the last 7 days">7 d</abbr>
              </th>
              <th>
                <abbr title="On time in the last 30 days">30 d</abbr>
              </th>
              <th>
                <abbr title="On time in the last 90 days">90 d</abbr>
              </th>
            </tr>
          </thead>
          <tbody>
            {group.jobs.map((job) => (
              <Job job={job} view={shown.view} />
            ))}
          </tbody>
        </table>
      </div>
    )}
  </section>
);

const ROW: Readonly<Partial<Record<PublicStatus, string>>> = { down: 'is-trouble', late: 'is-late' };

const Job: FC<{ job: ShownJob; view: Shown['view'] }> = ({ job, view }) => {
  const { name, status, roll, lastSuccess, nextExpected, shares } = job;
  return (
    <tr {...(ROW[status] ? { class: ROW[status] } : {})}>
      <th>
        {name} <StatusWord status={status} />
      </th>
      <td>
        <PublicRoll cells={roll} />
      </td>
      <td>{lastSuccess === null ? 'none yet' : <Moment at={lastSuccess} shown={view} />}</td>
      <td>{nextExpected === null ? '–' : <Moment at={nextExpected} shown={view} />}</td>
      <ShareCell share={shares.d7} />
      <ShareCell share={shares.d30} />
      <ShareCell share={shares.d90} />
    </tr>
  );
};

/** What was left out stands below, so that nobody takes silence for success. */
const ShareCell: FC<{ share: Share }> = ({ share }) => {
  const out = leftOut(share);
  return (
    <td>
      {shareText(share)}
      {out === null ? null : <small>{out}</small>}
    </td>
  );
};

const StatusWord: FC<{ status: PublicStatus }> = ({ status }) => {
  const [words, state] = STATUS_WORDS[status];
  return (
    <span class={status === 'up' ? 'word' : `word ${status}`}>
      <PublicGlyph state={state} />
      {words}
    </span>
  );
};
