import type { FC } from 'hono/jsx';
import type { ChannelUses } from '../../store/channel-uses.ts';
import { Asking } from './asking.tsx';

type Removal = { slug: string; uses: ChannelUses; base: string };

/** Asks before a channel is deleted, and says who is not told any more then. `base`: the address of the project. */
export const ChannelRemoval: FC<Removal> = ({ slug, uses, base }) => (
  <Asking title={`Delete ${slug}?`} verb="Delete this channel" back={`${base}/channels/${slug}`}>
    <p>
      Nothing goes there any more. {waitingText(uses.waiting)} Its list of attempts goes with it. This cannot be taken
      back.
    </p>
    <ul class="stack-s">
      <li>
        {uses.isLast
          ? 'It is the only channel of this project: without it nobody is told of anything.'
          : 'Jobs that name no channels go on telling the others.'}
      </li>
      {uses.isLastOperator ? (
        <li>No other channel hears about Rollcall itself and about dead channels: nobody would be told of those.</li>
      ) : null}
      <Named lead="Named by" what="job" names={uses.jobs} href={`${base}/jobs/`} />
      <Named lead="Gets" what="report" names={uses.reports} href={`${base}/reports/`} />
    </ul>
  </Asking>
);

const MOST_NAMED = 20;

const Named: FC<{ lead: string; what: string; names: readonly string[]; href: string }> = ({
  lead,
  what,
  names,
  href,
}) =>
  names.length === 0 ? null : (
    <li>
      {lead} {names.length} {names.length === 1 ? what : `${what}s`}:{' '}
      {names.slice(0, MOST_NAMED).map((name, index) => (
        <>
          {index === 0 ? '' : ', '}
          <a href={href + name}>{name}</a>
        </>
      ))}
      {names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''}
    </li>
  );

function waitingText(count: number): string {
  if (count === 0) return 'No message waits for it.';
  return `${count} ${count === 1 ? 'message that waits' : 'messages that wait'} for it will not be sent.`;
}
