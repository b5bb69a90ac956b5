import type { FC } from 'hono/jsx';
import { Field, type FieldAttributes } from './form.tsx';

let names: readonly string[] | null = null;

/** The names a zone may be chosen from; more are taken, such as the old ones. */
function zoneNames(): readonly string[] {
  names ??= [
    'UTC',
    ...Intl.supportedValuesOf('timeZone').filter((name) => name.includes('/') && !name.startsWith('Etc/')),
  ];
  return names;
}

/**
 * A time zone by its name. `offers`: names that a button fills in; it sends the form to `action`, a button's value that the
 * page knows, and the page comes back with everything that was typed. `preview`: the selector of what else that answers with
 * `ChosenZone`, so that nothing but these two change.
 */
export const ZoneField: FC<{
  value: string;
  flaw?: string | undefined;
  hint: string;
  offers: readonly string[];
  action: string;
  preview?: string;
}> = ({ value, flaw, hint, offers, action, preview }) => (
  <div class="stack-s">
    <Field name="zone" label="Time zone" hint={hint} flaw={flaw}>
      {(attributes) => <ZoneInput {...attributes} value={value} />}
    </Field>
    <datalist id="zones">
      {zoneNames().map((name) => (
        <option value={name} />
      ))}
    </datalist>
    {offers.length === 0 ? null : (
      <div class="row">
        {offers.map((name) => (
          <button
            class="small"
            type="submit"
            name="use_zone"
            value={name}
            formaction={action}
            formnovalidate
            {...(preview === undefined
              ? {}
              : {
                  'hx-post': action,
                  'hx-include': 'closest form',
                  'hx-target': preview,
                  'hx-swap': 'outerMorph',
                })}
          >
            Use {name}
          </button>
        ))}
      </div>
    )}
  </div>
);

const ZoneInput: FC<FieldAttributes & { value: string }> = ({ value, ...attributes }) => (
  <input
    {...attributes}
    type="text"
    list="zones"
    value={value}
    placeholder="Europe/Berlin"
    autocomplete="off"
    spellcheck={false}
  />
);

/** Beside a preview: the field with the zone a button filled in. The focus stays on the button. */
export const ChosenZone: FC<{ value: string }> = ({ value }) => (
  <hx-partial hx-target="#f-zone" hx-swap="outerHTML">
    <ZoneInput id="f-zone" name="zone" aria-describedby="f-zone-hint f-zone-wrong" value={value} />
  </hx-partial>
);
