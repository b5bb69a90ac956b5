import type { FC } from 'hono/jsx';
import type { MissedRuns } from '../../../core/definition.ts';
import { Field } from '../form.tsx';
import { Duration, type FieldsProps, isTouched } from './deadline-fields.tsx';
import { textOf } from './draft.ts';

const POLICIES: readonly (readonly [MissedRuns, string, string, string])[] = [
  [
    'catch_up',
    'Each run is distinct work',
    'Every occurrence that nobody ran stays owed, the oldest first, until it is done or no longer useful. A billing day, a report for each day.',
    'catch_up',
  ],
  [
    'coalesce',
    'Each run processes current state',
    'One later run covers all that were missed; at most the newest is owed. A backup, a cleanup, a sync.',
    'coalesce',
  ],
  [
    'skip',
    'A late run is worse than none',
    'What was missed is recorded, told, and never made up for. A digest, a reminder, a price list of this morning.',
    'skip',
  ],
];

const CATCH_UP = ['max_catch_up', 'throttle'];

/** What happens to occurrences that nobody ran: one of three, and none is assumed. */
export const PolicyFields: FC<FieldsProps> = (props) => {
  const { draft, flaws } = props;
  const flaw = flaws.get('missed_runs');
  return (
    <div class="stack">
      <div
        class="policies"
        role="radiogroup"
        aria-labelledby="policy-legend"
        {...(flaw ? { 'aria-describedby': 'policy-wrong' } : {})}
      >
        {POLICIES.map(([value, meaning, explained, word]) => (
          <label class="policy">
            <input
              type="radio"
              name="missed_runs"
              value={value}
              {...(textOf(draft, 'missed_runs') === value ? { checked: true } : {})}
            />
            <span class="stack-s">
              <strong>{meaning}</strong>
              <span class="soft">{explained}</span>
              <code>{word}</code>
            </span>
          </label>
        ))}
      </div>
      {flaw === undefined ? null : (
        <p class="wrong" id="policy-wrong">
          {flaw}
        </p>
      )}
      <Field
        name="missed_runs_reason"
        label="Why"
        hint="Shown to whoever is called at night and asks what to do. May be empty."
        flaw={flaws.get('missed_runs_reason')}
      >
        {(attributes) => (
          <textarea {...attributes} class="short prose" rows={2}>
            {textOf(draft, 'missed_runs_reason')}
          </textarea>
        )}
      </Field>
      <details {...(isTouched(props, CATCH_UP) ? { open: true } : {})}>
        <summary>Handing out what is owed</summary>
        <div class="fields">
          <Duration
            {...props}
            name="max_catch_up"
            label="Most owed at once"
            hint="More than this under catch_up, and a person has to say run or skip. Empty: 100."
          />
          <Duration
            {...props}
            name="throttle"
            label="Throttle"
            hint="Between two hand-outs of what is owed. Empty: 10s."
          />
        </div>
      </details>
    </div>
  );
};
