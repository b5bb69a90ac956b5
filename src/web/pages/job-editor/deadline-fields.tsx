import type { FC } from 'hono/jsx';
import { TextField } from '../form.tsx';
import { type Draft, textOf } from './draft.ts';

export type FieldsProps = { readonly draft: Draft; readonly flaws: ReadonlyMap<string, string> };

/** Each duration of section "Deadlines", with what it is where it is left empty. */
const COMMON: readonly (readonly [string, string, string])[] = [
  ['grace', 'Grace', 'Completion is expected by due + this. Empty: 5m, or useful_for if that is shorter.'],
  ['max_runtime', 'Longest run', 'A run that began in time has this long instead. Empty: no limit of its own.'],
];
const RARE: readonly (readonly [string, string, string])[] = [
  ['start_within', 'Start within', 'A start is expected by due + this. Empty: only the end counts.'],
  ['early', 'Early', 'Any ping this long before may belong to it. Empty: a tenth of the gap, at most 5m.'],
  [
    'useful_for',
    'Useful for',
    'After due + this a completion is worth nothing. Empty: always useful; with skip until the next one.',
  ],
];

/** Whether any of these fields holds a value or an error: then the part of the form that has them is open. */
export const isTouched = ({ draft, flaws }: FieldsProps, names: readonly string[]): boolean =>
  names.some((name) => textOf(draft, name).trim() !== '' || flaws.has(name));

export const DeadlineFields: FC<FieldsProps> = (props) => (
  <div class="stack">
    <div class="fields">
      {COMMON.map(([name, label, hint]) => (
        <Duration {...props} name={name} label={label} hint={hint} />
      ))}
    </div>
    <details
      {...(isTouched(
        props,
        RARE.map(([name]) => name),
      )
        ? { open: true }
        : {})}
    >
      <summary>Start, early, usefulness</summary>
      <div class="fields">
        {RARE.map(([name, label, hint]) => (
          <Duration {...props} name={name} label={label} hint={hint} />
        ))}
      </div>
    </details>
    <p class="hint-line">Durations are written 90s, 10m, 6h, 2d or as ISO 8601.</p>
  </div>
);

export const Duration: FC<FieldsProps & { name: string; label: string; hint: string }> = ({
  draft,
  flaws,
  name,
  label,
  hint,
}) => (
  <TextField
    name={name}
    label={label}
    value={textOf(draft, name)}
    hint={hint}
    flaw={flaws.get(name)}
    autocomplete="off"
  />
);
