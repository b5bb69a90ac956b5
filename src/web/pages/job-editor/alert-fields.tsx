import type { Child, FC } from 'hono/jsx';
import { type ThresholdKind, thresholdKinds } from '../../../core/definition.ts';
import { Field, TextField } from '../form.tsx';
import { type FieldsProps, isTouched } from './deadline-fields.tsx';
import { type Draft, textOf } from './draft.ts';

export type AlertProps = FieldsProps & {
  /** Slugs of the project's channels. */
  readonly channels: readonly string[];
};

const MODES = [
  ['all', 'Every channel of the project, later ones too'],
  ['these', 'Only these'],
  ['none', 'Nobody: it is only recorded'],
] as const;

/** Who is told. */
export const ChannelFields: FC<AlertProps> = ({ draft, flaws, channels }) => {
  const chosen = draft['channels'] ?? [];
  const mode = textOf(draft, 'channels_mode') || 'all';
  // One that was deleted since stays in the form, so that it is seen and can be taken out.
  const all = [...new Set([...channels, ...chosen])];
  return (
    <div class="stack-s channel-fields">
      {MODES.map(([value, text]) => (
        <label class="choice">
          <input type="radio" name="channels_mode" value={value} {...(mode === value ? { checked: true } : {})} />
          <span>{text}</span>
        </label>
      ))}
      <div class="these row">
        {all.length === 0 ? <span class="soft">This project has no channels yet.</span> : null}
        {all.map((slug) => (
          <label class="choice">
            <input type="checkbox" name="channels" value={slug} {...(chosen.includes(slug) ? { checked: true } : {})} />
            <span>{slug}</span>
          </label>
        ))}
      </div>
      {flaws.has('channels') ? (
        <p class="wrong" id="f-channels-wrong">
          {flaws.get('channels')}
        </p>
      ) : null}
    </div>
  );
};

const KINDS: Readonly<Record<ThresholdKind, string>> = {
  not_started: 'Did not start',
  missing: 'Did not run',
  late: 'Not finished in time',
  overrun: 'Runs too long',
  failed: 'Failed',
  expired: 'Finished too late to be of use',
  duplicate: 'Ran more than once',
};

const thresholdNames = thresholdKinds.flatMap((kind) => [
  `alert_after.${kind}`,
  `alert_after.${kind}.count`,
  `alert_after.${kind}.of`,
]);

/** How many make a message. */
export const ThresholdFields: FC<FieldsProps> = (props) => (
  <details {...(isTouched(props, thresholdNames) ? { open: true } : {})}>
    <summary>Tell only after several</summary>
    <div class="stack-s">
      <p class="soft">
        Empty: the first one is told. 2 of 3: told when two of the last three occurrences were in that trouble.
      </p>
      <div class="thresholds">
        {thresholdKinds.map((kind) => (
          <div class="threshold">
            <span id={`kind-${kind}`}>{KINDS[kind]}</span>
            <Count {...props} kind={kind} part="count" label="how many" />
            <span class="soft">of</span>
            <Count {...props} kind={kind} part="of" label="of the last" />
            {props.flaws.has(`alert_after.${kind}`) ? (
              <span class="wrong" id={`wrong-${kind}`}>
                {props.flaws.get(`alert_after.${kind}`)}
              </span>
            ) : null}
          </div>
        ))}
      </div>
    </div>
  </details>
);

const Count: FC<FieldsProps & { kind: ThresholdKind; part: 'count' | 'of'; label: string }> = ({
  draft,
  flaws,
  kind,
  part,
  label,
}) => {
  const isWrong = flaws.has(`alert_after.${kind}`);
  return (
    <input
      type="text"
      inputmode="numeric"
      size={4}
      name={`alert_after.${kind}.${part}`}
      value={textOf(draft, `alert_after.${kind}.${part}`)}
      aria-label={`${KINDS[kind]}: ${label}`}
      {...(isWrong ? { 'aria-invalid': 'true' as const, 'aria-describedby': `wrong-${kind}` } : {})}
    />
  );
};

/** A choice of few words; the first is the default. */
const Choice: FC<{
  draft: Draft;
  flaws: ReadonlyMap<string, string>;
  name: string;
  label: string;
  options: readonly (readonly [string, string])[];
  hint: Child;
}> = ({ draft, flaws, name, label, options, hint }) => (
  <Field name={name} label={label} hint={hint} flaw={flaws.get(name)}>
    {(attributes) => (
      <select {...attributes}>
        {options.map(([value, text]) => (
          <option value={value} {...(textOf(draft, name) === value ? { selected: true } : {})}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

const RARE = ['overlap', 'duplicates', 'unscheduled', 'after'];
const DEFAULTS: Readonly<Record<string, string>> = { overlap: 'forbid', duplicates: 'alert', unscheduled: 'record' };

/** What few jobs need. */
export const RareFields: FC<FieldsProps & { jobs: readonly string[] }> = ({ draft, flaws, jobs }) => {
  const isOpen = RARE.some(
    (name) => flaws.has(name) || !['', DEFAULTS[name] ?? ''].includes(textOf(draft, name).trim()),
  );
  return (
    <details {...(isOpen ? { open: true } : {})}>
      <summary>Other jobs, overlap, duplicates, off-schedule runs</summary>
      <div class="stack">
        <TextField
          name="after"
          label="After these jobs"
          value={textOf(draft, 'after')}
          hint={
            jobs.length === 0
              ? 'Slugs, between commas.'
              : `Slugs, between commas. While one of them is not done, this job waits and calls nobody. There are ${jobs.slice(0, 20).join(', ')}${jobs.length > 20 ? ' and more' : ''}.`
          }
          flaw={flaws.get('after')}
          autocomplete="off"
        />
        <div class="fields">
          <Choice
            draft={draft}
            flaws={flaws}
            name="overlap"
            label="Overlap"
            options={[
              ['forbid', 'forbid: a claim waits'],
              ['allow', 'allow: several at once'],
              ['replace', 'replace: the newest takes over'],
            ]}
            hint="What a claim does while a run is in progress."
          />
          <Choice
            draft={draft}
            flaws={flaws}
            name="duplicates"
            label="A run too many"
            options={[
              ['alert', 'alert'],
              ['record', 'record only'],
            ]}
            hint="An occurrence that was completed more than once."
          />
          <Choice
            draft={draft}
            flaws={flaws}
            name="unscheduled"
            label="A run off schedule"
            options={[
              ['record', 'record only'],
              ['alert', 'alert'],
            ]}
            hint="A ping that belongs to no occurrence."
          />
        </div>
      </div>
    </details>
  );
};
