import type { FC } from 'hono/jsx';
import type { State } from '../../../core/occurrence.ts';
import type { JobStatus } from '../../../core/status.ts';
import { parseInstant } from '../../../core/time.ts';
import type { OccurrenceReading } from '../../../engine/reading.ts';
import { Glyph } from '../roll.tsx';
import { Ago, Time } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { isHeartbeat } from './load.ts';
import { policyWords, scheduleText, scheduleWords } from './words.ts';

const GLYPHS: Readonly<Record<JobStatus, State>> = {
  up: 'on_time',
  down: 'missed',
  late: 'late',
  blocked: 'coalesced',
  paused: 'skipped',
  unknown: 'unknown',
  new: 'expected',
};

const StatusBadge: FC<{ status: JobStatus }> = ({ status }) => (
  <span class={`badge ${status}`}>
    <Glyph state={GLYPHS[status]} />
    {status}
  </span>
);

/** What a job is and how it is. `isWhole`: with its schedule, policy and what is next; else its name alone. */
export const JobHead: FC<{ view: JobView; isWhole: boolean }> = ({ view, isWhole }) => {
  const { job, base, projectPath, mayEdit } = view;
  const { json, stored } = job;
  return (
    <header class="stack job-head">
      <div class="row spread">
        <div class="row">
          <h1>
            {isWhole ? (
              json.name
            ) : (
              <a class="plain" href={base}>
                {json.name}
              </a>
            )}
          </h1>
          <StatusBadge status={json.status} />
          {json.unreviewed ? <span class="tag">unreviewed</span> : null}
          {json.tags.map((tag) => (
            <a class="tag" href={`${projectPath}?tag=${encodeURIComponent(tag)}`}>
              {tag}
            </a>
          ))}
        </div>
        {mayEdit && isWhole ? <Actions view={view} isPaused={stored.pausedAt !== null} /> : null}
      </div>
      {isWhole && json.description !== '' ? <p class="soft">{json.description}</p> : null}
      {isWhole ? <Notes view={view} /> : null}
      {isWhole ? <Facts view={view} /> : null}
    </header>
  );
};

const Actions: FC<{ view: JobView; isPaused: boolean }> = ({ view: { base, projectPath, job }, isPaused }) => (
  <div class="row toolbar">
    <a class="button" href={`${base}/edit`}>
      Edit
    </a>
    <form method="post" action={`${base}/${isPaused ? 'resume' : 'pause'}`}>
      <button type="submit">{isPaused ? 'Resume' : 'Pause'}</button>
    </form>
    <a class="button" href={`${projectPath}/jobs/+new?from=${job.stored.slug}`}>
      Copy this job
    </a>
    <a class="button danger" href={`${base}/delete`}>
      Delete
    </a>
  </div>
);

/** What a person must know to read the rest: why it is quiet, what it waits for, what is odd about it. */
const Notes: FC<{ view: JobView }> = ({ view }) => {
  const { job, base, projectPath, viewerZone, mayEdit } = view;
  const { stored, zone, maintenance, json, now } = job;
  // That it is unreviewed is said above, in the words of a page.
  const warnings = json.warnings.filter((warning) => !warning.startsWith('unreviewed:'));
  return (
    <>
      {json.unreviewed ? (
        <p class="notice">
          Unreviewed: this job was made by its first ping.{' '}
          {mayEdit ? <a href={`${base}/edit`}>Check its schedule</a> : 'An editor should check its schedule'}; saving it
          is the review.
        </p>
      ) : null}
      {stored.pausedAt === null ? null : (
        <p class="notice">
          Paused since <Time at={stored.pausedAt} zone={zone} viewerZone={viewerZone} />: what is due until it is
          resumed is skipped. Pings are kept and shown.
        </p>
      )}
      {maintenance === null ? null : (
        <p class="notice">
          In maintenance (<a href={`${projectPath}/maintenance/${maintenance.slug}`}>{maintenance.slug}</a>) until{' '}
          <Time at={maintenance.until} zone={zone} viewerZone={viewerZone} />, <Ago at={maintenance.until} now={now} />:
          what is due and silent is skipped, and nobody is called.
        </p>
      )}
      {stored.blockedOn.map(({ job: slug, due }) => (
        <p class="notice">
          Waits for <a href={`${projectPath}/jobs/${slug}`}>{slug}</a>, due{' '}
          <Time at={due} zone={zone} viewerZone={viewerZone} />: until that is done nobody is called about this one.
        </p>
      ))}
      {warnings.length === 0 ? null : (
        <details class="small" id="job-warnings" hx-morph-skip>
          <summary>{warnings.length === 1 ? 'A note' : `${warnings.length} notes`} about this job</summary>
          <ul>
            {warnings.map((warning) => (
              <li>{warning}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
};

const Facts: FC<{ view: JobView }> = ({ view }) => {
  const { job, viewerZone } = view;
  const { stored, json, zone, lastDone, now } = job;
  const { definition } = stored;
  const next = json.next_due && parseInstant(json.next_due.scheduled_for);
  return (
    <dl class="facts">
      <dt>Schedule</dt>
      <dd>
        {definition.schedules.map((spec) => (
          <div>
            {scheduleWords(spec)} <code class="soft">{scheduleText(spec)}</code>
          </div>
        ))}
        <span class="soft">{definition.zone}</span>
      </dd>
      <dt>Missed runs</dt>
      <dd>
        {policyWords(definition)}
        {definition.missedRunsReason === '' ? null : <div class="soft">{definition.missedRunsReason}</div>}
      </dd>
      <dt>Next due</dt>
      <dd>
        {next?.ok ? (
          <>
            <Time at={next.value} zone={zone} viewerZone={viewerZone} /> <Ago at={next.value} now={now} />
          </>
        ) : (
          <span class="soft">{stored.pausedAt === null ? 'nothing is to come' : 'nothing while it is paused'}</span>
        )}
      </dd>
      <dt>Last done</dt>
      <dd>{lastDone === null ? <span class="soft">never so far</span> : <LastDone view={view} done={lastDone} />}</dd>
    </dl>
  );
};

/** Of what may be done long before it is due, when that was comes first. */
const LastDone: FC<{ view: JobView; done: OccurrenceReading }> = ({ view, done }) => {
  const { job, base, viewerZone } = view;
  const { key, scheduledFor, completedAt, settledAt } = done;
  const at = completedAt ?? settledAt;
  const path = `${base}/occurrences/${key}`;
  const due = <Time at={scheduledFor} zone={job.zone} viewerZone={viewerZone} />;
  if (at !== null && (isHeartbeat(job) || scheduledFor > job.now)) {
    return (
      <>
        <Ago at={at} now={job.now} />,{' '}
        <a href={path}>
          <Time at={at} zone={job.zone} viewerZone={viewerZone} />
        </a>
        , <span class="soft">was due by {due}</span>
      </>
    );
  }
  return (
    <>
      <a href={path}>{due}</a>
      {completedAt === null ? null : (
        <>
          , ended <Ago at={completedAt} now={job.now} />
        </>
      )}
    </>
  );
};
