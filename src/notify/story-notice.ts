import { payLine, runLine } from './advice.ts';
import type { NoticeEvent } from './channel.ts';
import { keyText, plain, stateText, timeText } from './phrases.ts';
import type { Part, Story, Telling } from './story.ts';

/** Tells what is about Rollcall itself. */
export function noticeStory({ notice, occurrences, occurrenceCount }: NoticeEvent, { zones, lines }: Telling): Story {
  const runs = occurrences.slice(0, lines).map(({ job, key, state }) => ({
    when: `${job.slug}, ${keyText(key)}`,
    // Why, the title has said.
    fate: state === 'unknown' ? 'unknown' : stateText(state),
  }));
  const isUnknown = notice.kind === 'unknown';
  const facts = [{ label: 'Time', text: timeText(notice.at, 'UTC', zones) }];
  return {
    mood: 'notice',
    label: isUnknown ? 'unknown' : 'notice',
    title: plain(notice.text, 500),
    parts: [
      { kind: 'facts', facts },
      ...(isUnknown ? [unknownAdvice(occurrences)] : []),
      ...(runs.length > 0 ? [{ kind: 'runs', runs, more: occurrenceCount - runs.length } as const] : []),
    ],
  };
}

/** Jobs for which the line to paste is written out. */
const MOST_LINES_TO_PASTE = 3;

function unknownAdvice(occurrences: NoticeEvent['occurrences']): Part {
  const key = occurrences[0]?.key ?? 'KEY';
  const owing = occurrences.filter(({ missedRuns }) => missedRuns === 'catch_up').map(({ job }) => job.slug);
  const slugs = [...new Set(owing)];
  const says = 'Under catch_up theirs are unconfirmed, and handed out only if you say so:';
  const lines = slugs.slice(0, MOST_LINES_TO_PASTE).map(runLine);
  const more = slugs.length > lines.length ? ` # and ${slugs.length - lines.length} more jobs` : '';
  return {
    kind: 'advice',
    text: 'Check whether these ran: a log of the job knows. Nobody is called about them again.',
    ways: [
      { says: 'Report each that did, with its key (PING_URL is its ping address):', line: payLine(key) },
      ...(lines.length > 0 ? [{ says, line: `${lines.join('\n')}${more}` }] : []),
    ],
  };
}
