import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { Time } from '../time.tsx';
import type { ShownWindow } from './draft.ts';
import { Fetched, type ListedWindow } from './list.tsx';
import { StretchTable } from './stretch-table.tsx';
import { whenWords, whomWords } from './words.ts';

/** One window: what it is, what is to come, and how to end it. */
export const WindowView: FC<{
  listed: ListedWindow;
  clocks: readonly string[];
  jobsLeft: ShownWindow['jobs_left'];
  viewerZone: Zone;
  now: number;
  path: string;
  mayEdit: boolean;
}> = ({ listed, clocks, jobsLeft, viewerZone, now, path, mayEdit }) => {
  const { window, zone, active, stretches } = listed;
  const { definition } = window;
  return (
    <div class="stack">
      {active ? (
        <p class="notice">This window holds now: what is due and nobody runs is skipped, and nobody is called.</p>
      ) : null}
      {jobsLeft === 0 ? null : (
        <p class="notice">
          Its past is still being applied: {jobsLeft} {jobsLeft === 1 ? 'job is' : 'jobs are'} left.
        </p>
      )}
      <dl class="facts card">
        <dt>When</dt>
        <dd>
          {whenWords(definition.when)}
          {definition.when.kind === 'once' ? null : <span class="soft"> · {zone.name}</span>}
        </dd>
        {definition.when.kind === 'calendar' && definition.when.url !== null ? (
          <>
            <dt>Calendar</dt>
            <dd>
              <span class="mono">{definition.when.url}</span>
              <Fetched window={window} zone={viewerZone} now={now} />
            </dd>
          </>
        ) : null}
        <dt>Whom</dt>
        <dd>{whomWords(definition)}</dd>
        {definition.reason === '' ? null : (
          <>
            <dt>Reason</dt>
            <dd>{definition.reason}</dd>
          </>
        )}
        <dt>Changed</dt>
        <dd>
          <Time at={window.knownFrom} zone={viewerZone} /> by {window.actor}
        </dd>
      </dl>
      <section class="stack-s" aria-labelledby="coming">
        <h2 id="coming">The next windows</h2>
        {stretches.length === 0 ? (
          <p class="soft">None is to come: it is over.</p>
        ) : (
          <div class="card">
            <StretchTable stretches={stretches} zone={zone} viewerZone={viewerZone} now={now} />
          </div>
        )}
        {clocks.map((sentence) => (
          <p class="soft">{sentence}</p>
        ))}
      </section>
      {mayEdit ? (
        <div class="row">
          <a class="button main" href={`${path}/${window.slug}/edit`}>
            Edit
          </a>
          <a class="button danger" href={`${path}/${window.slug}/end`}>
            {active ? 'End it now' : 'Delete'}
          </a>
          <span class="soft small">What was due in it stays skipped.</span>
        </div>
      ) : null}
    </div>
  );
};
