import type { FC } from 'hono/jsx';
import type { Zone } from '../../core/zone.ts';
import { SNOOZES } from './incidents-snooze.ts';

/** A snooze as it was sent, and what is wrong with it. */
export type TypedSnooze = { readonly wanted: string; readonly until: string; readonly flaw: string };

/** Lets nothing of the incident go out for a while; where it is quiet already, ends that. */
export const SnoozeForm: FC<{
  path: string;
  zone: Zone;
  isSnoozed: boolean;
  typed: TypedSnooze | undefined;
}> = ({ path, zone, isSnoozed, typed }) => (
  <form id="snooze" class="stack-s" method="post" action={`${path}/snooze`} hx-morph-skip="">
    <fieldset class="stack-s">
      <legend>{isSnoozed ? 'Snooze until another time' : 'Snooze'}</legend>
      <p class="small soft">
        Nothing of it goes out until then. If it is still open by that time, one message says so. Times are in{' '}
        {zone.name}.
      </p>
      <div class="row">
        {Object.entries(SNOOZES).map(([value, text], index) => (
          <label class="choice">
            <input
              type="radio"
              name="for"
              value={value}
              {...(value === typed?.wanted || (!typed && index === 0) ? { checked: true } : {})}
            />
            {text}
          </label>
        ))}
        <input
          type="datetime-local"
          name="until"
          value={typed?.until ?? ''}
          aria-label="Date and time"
          {...(typed ? { 'aria-invalid': 'true' as const, 'aria-describedby': 'snooze-wrong' } : {})}
        />
        <button type="submit">Snooze</button>
        {isSnoozed ? (
          <button type="submit" name="for" value="end">
            End the snooze
          </button>
        ) : null}
      </div>
      {typed ? (
        <span class="wrong" id="snooze-wrong">
          {typed.flaw}
        </span>
      ) : null}
    </fieldset>
  </form>
);
