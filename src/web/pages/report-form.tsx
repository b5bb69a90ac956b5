import type { FC } from 'hono/jsx';
import type { ApiFlaw } from './call.ts';
import { Field, flawOf, TextField, type Typed } from './form.tsx';

/** What a report is, to whom it goes, and what it is about. `emails`: the e-mail channels of the project. */
export const ReportForm: FC<{
  typed: Typed;
  errors: readonly ApiFlaw[];
  emails: readonly string[];
  isNew: boolean;
  back: string;
}> = ({ typed, errors, emails, isNew, back }) => {
  const chosen = new Set((typed['channels'] ?? '').split(','));
  return (
    <form method="post" class="stack">
      <fieldset class="stack">
        <legend>What it is</legend>
        {isNew ? (
          <TextField
            name="slug"
            label="Slug"
            value={typed['slug'] ?? 'weekly'}
            required
            flaw={flawOf(errors, 'slug')}
          />
        ) : null}
        <Field name="every" label="Every" flaw={flawOf(errors, 'every')}>
          {(attributes) => (
            <select {...attributes}>
              {['week', 'month'].map((every) => (
                <option value={every} {...(typed['every'] === every ? { selected: true } : {})}>
                  {every}
                </option>
              ))}
            </select>
          )}
        </Field>
        <TextField
          name="zone"
          label="Time zone"
          value={typed['zone']}
          required
          hint="Weeks and months begin at midnight here: Europe/Berlin, UTC."
          flaw={flawOf(errors, 'zone')}
        />
      </fieldset>
      <fieldset class="stack-s">
        <legend>To</legend>
        {emails.map((email) => (
          <label class="choice">
            <input type="checkbox" name="channels" value={email} {...(chosen.has(email) ? { checked: true } : {})} />
            <span>{email}</span>
          </label>
        ))}
        {flawOf(errors, 'channels') === undefined ? null : <p class="wrong">{flawOf(errors, 'channels')}</p>}
      </fieldset>
      <fieldset class="stack">
        <legend>About</legend>
        <TextField
          name="tags"
          label="Only jobs with one of these tags"
          value={typed['tags']}
          hint="Separated by commas. Empty: all jobs."
          flaw={flawOf(errors, 'tags')}
        />
      </fieldset>
      <div class="row">
        <button type="submit" class="main">
          {isNew ? 'Add the report' : 'Save'}
        </button>
        <a class="button" href={back}>
          Cancel
        </a>
      </div>
    </form>
  );
};
