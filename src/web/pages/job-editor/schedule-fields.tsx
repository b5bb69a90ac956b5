import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { Field, TextField } from '../form.tsx';
import { ZoneField } from '../zone-field.tsx';
import type { FieldsProps } from './deadline-fields.tsx';
import { kindOf, type ScheduleKindName, textOf } from './draft.ts';

const KINDS: readonly (readonly [ScheduleKindName, string, string])[] = [
  ['times', 'At times', 'cron lines'],
  ['interval', 'Every so often', 'elapsed time from a fixed instant'],
  ['heartbeat', 'Heartbeat', 'a run within a period of the last one'],
];

/** When the job runs. Fields of the other kinds are kept, and hidden where the browser can (app.css). */
export const ScheduleFields: FC<FieldsProps & { viewerZone: Zone; isNew: boolean; action: string }> = (props) => {
  const { draft, flaws, viewerZone, isNew } = props;
  const kind = kindOf(draft);
  return (
    <div class="stack schedule-fields">
      <fieldset class="plain">
        <legend>Kind</legend>
        <div class="choices">
          {KINDS.map(([value, label, what]) => (
            <label class="choice">
              <input type="radio" name="kind" value={value} {...(value === kind ? { checked: true } : {})} />
              <span>
                {label} <span class="soft">· {what}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <div class="for-times">
        <Field
          name="lines"
          label="Times"
          hint={
            <>
              One a line: <code>30 2 * * *</code>, <code>*/15 8-18 * * 1-5</code>, <code>@daily</code>, or{' '}
              <code>every 2h from 2026-01-01T00:00:00Z</code>. The job runs at all of them.
            </>
          }
          flaw={flaws.get('lines')}
        >
          {(attributes) => (
            <textarea {...attributes} rows={3} spellcheck={false} autocomplete="off" autocapitalize="none">
              {textOf(draft, 'lines')}
            </textarea>
          )}
        </Field>
      </div>
      <div class="fields for-interval">
        <TextField
          name="every"
          label="Every"
          value={textOf(draft, 'every')}
          hint="90s, 10m, 6h, 2d"
          flaw={flaws.get('every')}
          autocomplete="off"
        />
        <TextField
          name="anchor"
          label="From"
          value={textOf(draft, 'anchor')}
          hint="An instant with its offset that fixes the phase. Empty: 1970-01-01T00:00:00Z."
          flaw={flaws.get('anchor')}
          autocomplete="off"
        />
      </div>
      <div class="for-heartbeat">
        <TextField
          name="heartbeat"
          label="Period"
          value={textOf(draft, 'heartbeat')}
          hint="A run is expected within this of the last one: 10m, 6h, 1d. A heartbeat takes no missed-run policy."
          flaw={flaws.get('heartbeat')}
          autocomplete="off"
        />
      </div>
      <ZoneField
        value={textOf(draft, 'zone')}
        flaw={flaws.get('zone')}
        hint="The zone whose local clock the schedule follows. It is not assumed to be UTC, or yours."
        offers={isNew || textOf(draft, 'zone') === '' ? [...new Set([viewerZone.name, 'UTC'])] : []}
        action={props.action}
        preview="#schedule-preview"
      />
    </div>
  );
};
