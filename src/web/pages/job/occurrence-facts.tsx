import type { Child, FC } from 'hono/jsx';
import { formatInstant, type Instant } from '../../../core/time.ts';
import { StateBadge } from '../roll.tsx';
import { Ago, Time, timeText } from '../time.tsx';
import type { JobView } from './frame.tsx';
import type { WholeOccurrence } from './occurrence.tsx';
import { DueTime, otherZones } from './occurrence-table.tsx';
import { MATCH_WORDS, reasonWords, spokenMs } from './words.ts';

/** What became of an occurrence, why and since when. */
export const OccurrenceFacts: FC<{ view: JobView; whole: WholeOccurrence }> = ({ view, whole }) => {
  const { occurrence, facts } = whole;
  const { state, reason, note, coveredBy, completions, standsFor, startedAt, completedAt, durationMs } = occurrence;
  const { zone } = view.job;
  const at = (instant: Instant) => <Time at={instant} zone={zone} viewerZone={view.viewerZone} />;
  return (
    <section class="stack" aria-labelledby="occurrence">
      <div class="row">
        <h2 id="occurrence" class="key">
          {occurrence.key.replace('T', ' ')}
        </h2>
        <StateBadge state={state} />
        {occurrence.owed ? <b class="bad">owed</b> : null}
      </div>
      <dl class="facts">
        <Fact name="Due">
          <DueTime at={occurrence.scheduledFor} view={view} /> {zone.name === 'UTC' ? '' : `${zone.name}, `}
          <Ago at={occurrence.scheduledFor} now={view.job.now} />
          {otherZones(view).map(({ name, zone: other }) => (
            <div class="soft">
              <time datetime={formatInstant(occurrence.scheduledFor)}>{timeText(occurrence.scheduledFor, other)}</time>
              {name === 'UTC' ? '' : ` ${name}`}
            </div>
          ))}
        </Fact>
        <Fact name="Key">
          <code>{occurrence.key}</code>
        </Fact>
        {facts?.settledAt == null ? null : <Fact name="Settled">{at(facts.settledAt)}</Fact>}
        {reason === null ? null : (
          <Fact name="Why">
            {reasonWords(reason)}
            {whole.settledBy === null ? '' : ` by ${whole.settledBy}`}
            {note === null || note === '' ? '' : `: ${note}`}
          </Fact>
        )}
        {facts?.blockedOn && facts.blockedFor !== null ? (
          <Fact name="Waits for">
            <a href={`${view.projectPath}/jobs/${facts.blockedOn}`}>{facts.blockedOn}</a>, due {at(facts.blockedFor)}
          </Fact>
        ) : null}
        {startedAt === null ? null : <Fact name="Began">{at(startedAt)}</Fact>}
        {completedAt === null ? null : <Fact name="Completed">{at(completedAt)}</Fact>}
        {durationMs === null ? null : <Fact name="Took">{spokenMs(durationMs)}</Fact>}
        {coveredBy === null ? null : (
          <Fact name="Covered by">
            <a href={`${view.base}/occurrences/${coveredBy}`}>{coveredBy.replace('T', ' ')}</a>
          </Fact>
        )}
        {completions > 1 || completions > standsFor ? (
          <Fact name="Good runs">
            {completions}
            {completions > standsFor ? ': more than there should be' : ''}
          </Fact>
        ) : null}
        {standsFor > 1 ? <Fact name="Stands for">{standsFor} local times, which the clocks jumped over</Fact> : null}
        {occurrence.matchedBy === null ? null : (
          <Fact name="Matched">{MATCH_WORDS[occurrence.matchedBy] ?? occurrence.matchedBy}</Fact>
        )}
      </dl>
    </section>
  );
};

const Fact: FC<{ name: string; children?: Child }> = ({ name, children }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);
