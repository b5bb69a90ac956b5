import type { FC } from 'hono/jsx';
import { Field } from './form.tsx';

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
 * page knows, and the page comes back with everything that was typed.
 */
export const ZoneField: FC<{
  value: string;
  flaw?: string | undefined;
  hint: string;
  offers: readonly string[];
  action: string;
}> = ({ value, flaw, hint, offers, action }) => (
  <div class="stack-s">
    <Field name="zone" label="Time zone" hint={hint} flaw={flaw}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          list="zones"
          value={value}
          placeholder="Europe/Berlin"
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </Field>
    <datalist id="zones">
      {zoneNames().map((name) => (
        <option value={name} />
      ))}
    </datalist>
    {offers.length === 0 ? null : (
      <div class="row">
        {offers.map((name) => (
          <button class="small" type="submit" name="use_zone" value={name} formaction={action} formnovalidate>
            Use {name}
          </button>
        ))}
      </div>
    )}
  </div>
);
