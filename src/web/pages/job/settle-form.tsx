import type { FC } from 'hono/jsx';
import { isOpen } from '../../../core/occurrence.ts';
import type { OccurrenceReading } from '../../../engine/reading.ts';
import type { ApiFlaw } from '../call.ts';
import { Field, flawOf, Refusal } from '../form.tsx';
import type { JobView } from './frame.tsx';

/** A decision that was refused, as it was sent. */
export type Settling = {
  readonly state: string;
  readonly note: string;
  readonly detail: string;
  readonly errors: readonly ApiFlaw[];
};

const DECISIONS = [
  [
    'on_time',
    'Done',
    'It ran, or it does not matter any more that it did not. It counts as on time, and covers what came before where the policy says so.',
  ],
  ['skipped', 'Skipped', 'It is not going to run. It counts for nothing, and is owed no longer.'],
] as const;

/** A person settles an occurrence, whatever it is by now. */
export const SettleForm: FC<{ view: JobView; occurrence: OccurrenceReading; refused: Settling | undefined }> = ({
  view,
  occurrence,
  refused,
}) => (
  <details open={refused !== undefined || occurrence.owed || isOpen(occurrence.state)} id="settle">
    <summary>Settle it by hand</summary>
    <form class="card stack" method="post" action={`${view.base}/occurrences/${occurrence.key}/settle`}>
      <Refusal detail={refused?.detail} />
      <p class="soft">Your name and the note are kept, here and in the audit log. What was heard stays on record.</p>
      <div role="radiogroup" aria-label="Settle as">
        {DECISIONS.map(([value, text, means]) => (
          <label class="choice">
            <input type="radio" name="state" value={value} required checked={refused?.state === value} />
            <span>
              <b>{text}</b> <span class="soft">{means}</span>
            </span>
          </label>
        ))}
      </div>
      {refused && flawOf(refused.errors, 'state') ? <p class="wrong">Say which of the two it is.</p> : null}
      <Field
        name="note"
        label="Note"
        hint="For whoever looks at this later."
        flaw={refused && flawOf(refused.errors, 'note')}
      >
        {(attributes) => <input {...attributes} type="text" maxlength={500} value={refused?.note ?? ''} />}
      </Field>
      <div>
        <button type="submit">Settle</button>
      </div>
    </form>
  </details>
);
