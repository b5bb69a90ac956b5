import type { FC } from 'hono/jsx';
import type { State } from '../../../core/occurrence.ts';
import { countText, shareText } from '../../../core/report-words.ts';
import type { JobStatus } from '../../../core/status.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { Share } from '../../../store/shares.ts';
import { KIND_WORDS, scheduleWords } from '../job/words.ts';
import { Glyph, Roll } from '../roll.tsx';
import { Ago, Time } from '../time.tsx';
import { type Filter, filterPath } from './filter.ts';
import type { BoardRow } from './read.ts';

/** Whose list it is, and what its reader may do. */
export type ListFrame = {
  readonly project: string;
  readonly filter: Filter;
  readonly now: Instant;
  readonly viewerZone: Zone;
  /** May change jobs: has a box to tick in each line. */
  readonly isEditor: boolean;
  /** Slugs that are ticked, of a form that was refused. */
  readonly ticked: ReadonlySet<string>;
};

/** The jobs, one a line: a table, and on a narrow screen a card for each. */
export const JobTable: FC<{ rows: readonly BoardRow[]; frame: ListFrame }> = ({ rows, frame }) => (
  <div class="card flush">
    <table class="folds joblist">
      <caption class="unseen">Jobs</caption>
      <thead>
        <tr>
          {frame.isEditor ? (
            <th class="tight" scope="col">
              <span class="unseen">Selected</span>
            </th>
          ) : null}
          <th scope="col">Status</th>
          <th scope="col">Job</th>
          <th scope="col">Last 24 and next 3</th>
          <th scope="col">Last success</th>
          <th scope="col">Next due</th>
          <th class="num" scope="col">
            <abbr title="On time in the last 30 days, by occurrences; skipped and unknown ones are left out">
              On time
            </abbr>
          </th>
          <th class="num" scope="col">
            Owed
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <JobRow row={row} frame={frame} />
        ))}
      </tbody>
    </table>
  </div>
);

const JobRow: FC<{ row: BoardRow; frame: ListFrame }> = ({ row, frame }) => {
  const { slug, name, status, roll, share, owed } = row;
  const path = `/projects/${frame.project}/jobs/${slug}`;
  return (
    <tr id={`job-${slug}`} class={ROW_LOOKS[status] ?? (row.openKinds.length > 0 ? 'is-late' : '')}>
      {frame.isEditor ? (
        <td class="tight pick">
          <input
            type="checkbox"
            name="job"
            value={slug}
            form="bulk"
            aria-label={`Select ${name}`}
            {...(frame.ticked.has(slug) ? { checked: true } : {})}
          />
        </td>
      ) : null}
      <td class="tight">
        <StatusBadge status={status} />
        {row.openKinds.length > 0 ? (
          <div class="small why">{row.openKinds.map((kind) => KIND_WORDS[kind]).join('; ')}</div>
        ) : null}
      </td>
      <th class="job" scope="row">
        <a class="plain name" href={path}>
          {name}
        </a>{' '}
        {row.tags.map((tag) => (
          <>
            <a class="tag" href={filterPath(frame.project, frame.filter, { tag })}>
              {tag}
            </a>{' '}
          </>
        ))}
        {row.unreviewed ? <span class="tag">unreviewed</span> : null}
        <div class="small soft">
          {row.schedules.map(scheduleWords).join('; ')}
          {isLocal(row) ? `, ${row.zone.name}` : ''}
        </div>
      </th>
      <td class="roll-cell">
        <Roll cells={roll} label={name} />
      </td>
      <td data-name="Last success">
        <When
          at={row.lastSuccess}
          zone={row.zone}
          frame={frame}
          none={row.isHeard ? 'never' : <Unheard slug={slug} frame={frame} />}
        />
      </td>
      <td data-name="Next due">
        <When at={row.nextDue} zone={row.zone} frame={frame} none={status === 'paused' ? 'paused' : 'none'} />
      </td>
      <td class="num" data-name="On time">
        <ShareText share={share} />
      </td>
      <td class={owed > 0 ? 'num' : 'num nothing'} data-name="Owed">
        {owed > 0 ? (
          <a class="count" href={`${path}#owed`} aria-label={`${countText(owed)} owed`}>
            {countText(owed)}
          </a>
        ) : (
          <span class="soft">0</span>
        )}
      </td>
    </tr>
  );
};

const ROW_LOOKS: Readonly<Partial<Record<JobStatus, string>>> = {
  down: 'is-trouble',
  late: 'is-late',
  blocked: 'is-late',
};

/** A cron schedule means nothing without its zone; elapsed time needs none. */
const isLocal = ({ schedules }: BoardRow): boolean => schedules.some((spec) => 'cron' in spec);

/** How long ago or until, and exactly when in the job's zone. */
const When: FC<{ at: Instant | null; zone: Zone; frame: ListFrame; none: unknown }> = ({ at, zone, frame, none }) =>
  at === null ? (
    <span class="soft">{none}</span>
  ) : (
    <>
      <Ago at={at} now={frame.now} />{' '}
      <span class="small soft exact">
        <Time at={at} zone={zone} viewerZone={frame.viewerZone} />
      </span>
    </>
  );

const Unheard: FC<{ slug: string; frame: ListFrame }> = ({ slug, frame }) =>
  frame.isEditor ? <a href={`/projects/${frame.project}/first-ping/${slug}`}>no ping yet</a> : <>no ping yet</>;

const ShareText: FC<{ share: Share | null }> = ({ share }) => {
  if (share === null || share.counted === 0) return <span class="soft">no data</span>;
  const { counted, onTime, skipped, unknown } = share;
  const left = [
    ...(skipped > 0 ? [`${countText(skipped)} skipped`] : []),
    ...(unknown > 0 ? [`${countText(unknown)} unknown`] : []),
  ];
  const title = `${countText(onTime)} of ${countText(counted)} on time${left.length > 0 ? `; left out: ${left.join(', ')}` : ''}`;
  return <span title={title}>{shareText(onTime / counted)}</span>;
};

/** Of which state each status has the shape. */
const STATUS_SHAPES: Readonly<Record<JobStatus, State>> = {
  down: 'failed',
  late: 'late',
  blocked: 'expected',
  unknown: 'unknown',
  new: 'expected',
  up: 'on_time',
  paused: 'skipped',
};

/** Status of a job as a word with its shape. */
const StatusBadge: FC<{ status: JobStatus }> = ({ status }) => (
  <span class={`badge ${status}`}>
    <Glyph state={STATUS_SHAPES[status]} />
    {status}
  </span>
);
