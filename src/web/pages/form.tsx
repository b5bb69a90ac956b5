import type { Child, FC } from 'hono/jsx';
import type { ApiFlaw } from './call.ts';

/** What was typed into a form: shown again as it was when it is refused. */
export type Typed = Readonly<Record<string, string>>;

/** What is wrong with one field, or with what is below it (`schedules` has the flaws of `schedules.0.cron`). */
export function flawOf(errors: readonly ApiFlaw[], path: string): string | undefined {
  const flaws = errors.filter((error) => error.path === path || error.path.startsWith(`${path}.`));
  return flaws.length === 0 ? undefined : flaws.map(({ message }) => message).join('; ');
}

/** One labelled field: its hint and what is wrong with it are tied to it for those who do not see them. `children` gets the attributes. */
export const Field: FC<{
  name: string;
  label: string;
  hint?: Child;
  flaw?: string | undefined;
  children: (attributes: FieldAttributes) => Child;
}> = ({ name, label, hint, flaw, children }) => {
  const id = `f-${name}`;
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(flaw === undefined ? [] : [`${id}-wrong`])];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        name,
        ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
        ...(flaw === undefined ? {} : { 'aria-invalid': 'true' as const }),
      })}
      {hint === undefined ? null : (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {flaw === undefined ? null : (
        <span class="wrong" id={`${id}-wrong`}>
          {flaw}
        </span>
      )}
    </div>
  );
};

export type FieldAttributes = {
  readonly id: string;
  readonly name: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: 'true';
};

/** A line of text. */
export const TextField: FC<{
  name: string;
  label: string;
  value?: string | undefined;
  hint?: Child;
  flaw?: string | undefined;
  type?: string;
  required?: boolean;
  autocomplete?: string;
  placeholder?: string;
  /** The id of a datalist. */
  list?: string;
}> = ({ name, label, value, hint, flaw, type = 'text', required, autocomplete, placeholder, list }) => (
  <Field name={name} label={label} flaw={flaw} {...(hint === undefined ? {} : { hint })}>
    {(attributes) => (
      <input
        {...attributes}
        type={type}
        value={value ?? ''}
        {...(required ? { required } : {})}
        {...(autocomplete === undefined ? {} : { autocomplete })}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(list === undefined ? {} : { list })}
      />
    )}
  </Field>
);

/** What the form as a whole was refused for; nothing where nothing was. */
export const Refusal: FC<{ detail?: string | undefined }> = ({ detail }) =>
  detail === undefined ? null : (
    <p class="trouble" role="alert">
      {detail}
    </p>
  );
