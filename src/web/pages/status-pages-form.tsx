import type { FC } from 'hono/jsx';
import type { ApiFlaw } from './call.ts';
import { Field, flawOf, TextField } from './form.tsx';
import type { Row, StatusDraft } from './status-pages-draft.ts';
import { ZoneField } from './zone-field.tsx';

type FormProps = {
  draft: StatusDraft;
  errors: readonly ApiFlaw[];
  /** Where it is sent to, and where Cancel leads. */
  action: string;
  back: string;
  jobs: readonly string[];
  isNew: boolean;
  hasPassword: boolean;
};

/** Making or changing a status page. */
export const StatusPageForm: FC<FormProps> = ({ draft, errors, action, back, jobs, isNew, hasPassword }) => (
  <form method="post" action={action} class="stack">
    <fieldset class="stack">
      <legend>The page</legend>
      {isNew ? (
        <TextField
          name="slug"
          label="Address"
          value={draft.slug}
          flaw={flawOf(errors, 'slug')}
          hint="The page is at /status/ and this: a to z, 0 to 9, - and _."
          required
          autocomplete="off"
        />
      ) : null}
      <TextField name="title" label="Title" value={draft.title} flaw={flawOf(errors, 'title')} required />
      <Field
        name="text"
        label="Text"
        hint="Below the title, as plain text: what these jobs are, and whom to ask."
        flaw={flawOf(errors, 'text')}
      >
        {(attributes) => <textarea {...attributes}>{draft.text}</textarea>}
      </Field>
      <ZoneField
        value={draft.zone}
        flaw={flawOf(errors, 'zone')}
        hint="All times on the page are shown in it."
        offers={[]}
        action={action}
      />
    </fieldset>
    <Rows rows={draft.rows} errors={errors} jobs={jobs} />
    <Audience draft={draft} errors={errors} hasPassword={hasPassword} />
    <div class="row">
      <button class="main" type="submit">
        {isNew ? 'Create the page' : 'Save'}
      </button>
      <a class="button" href={back}>
        Cancel
      </a>
    </div>
  </form>
);

const Rows: FC<{ rows: readonly Row[]; errors: readonly ApiFlaw[]; jobs: readonly string[] }> = ({
  rows,
  errors,
  jobs,
}) => {
  const flaw = flawOf(
    errors.filter(({ path }) => path === 'groups'),
    'groups',
  );
  return (
    <fieldset class="stack-s">
      <legend>What it shows</legend>
      <p class="soft small" id="rows-hint">
        One row a job, or <code>tag:web</code> for every job with the tag web. A row without a group belongs to the
        group above it. A group is of jobs or of one tag, not of both. Without a public name, the name of the job is
        shown. Empty rows are left out.
      </p>
      {flaw === undefined ? null : <p class="wrong">{flaw}</p>}
      <table class="folds" aria-describedby="rows-hint">
        <thead>
          <tr>
            <th>Group</th>
            <th>Job or tag</th>
            <th>Public name</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <RowFields row={row} number={i + 1} flaw={flawOf(errors, `rows.${i}`)} />
          ))}
        </tbody>
      </table>
      <datalist id="jobs">
        {jobs.map((slug) => (
          <option value={slug} />
        ))}
      </datalist>
      <div>
        <button class="small" type="submit" name="more" value="yes" formnovalidate>
          More rows
        </button>
      </div>
    </fieldset>
  );
};

const RowFields: FC<{ row: Row; number: number; flaw: string | undefined }> = ({ row, number, flaw }) => {
  const wrong =
    flaw === undefined ? {} : { 'aria-invalid': 'true' as const, 'aria-describedby': `row-${number}-wrong` };
  return (
    <tr>
      <td data-name="Group">
        <input name="group" value={row.group} aria-label={`Group of row ${number}`} autocomplete="off" />
      </td>
      <td data-name="Job or tag">
        <input
          name="shows"
          value={row.shows}
          list="jobs"
          aria-label={`Job or tag of row ${number}`}
          autocomplete="off"
          spellcheck={false}
          {...wrong}
        />
        {flaw === undefined ? null : (
          <span class="wrong" id={`row-${number}-wrong`}>
            {flaw}
          </span>
        )}
      </td>
      <td data-name="Public name">
        <input name="name" value={row.name} aria-label={`Public name of row ${number}`} autocomplete="off" />
      </td>
    </tr>
  );
};

const Audience: FC<{ draft: StatusDraft; errors: readonly ApiFlaw[]; hasPassword: boolean }> = ({
  draft,
  errors,
  hasPassword,
}) => (
  <fieldset class="stack">
    <legend>Who sees what</legend>
    <TextField
      name="password"
      type="password"
      label="Password"
      value=""
      flaw={flawOf(errors, 'password')}
      autocomplete="new-password"
      hint={
        hasPassword
          ? 'Leave it empty and the one that is there stays. A new one closes the page to everybody who used the old one.'
          : 'Leave it empty and everybody who has the address sees the page. At least 8 characters.'
      }
    />
    {hasPassword ? (
      <label class="choice">
        <input type="checkbox" name="drops_password" checked={draft.drops_password} />
        <span>Remove the password: everybody who has the address sees the page</span>
      </label>
    ) : null}
    <label class="choice">
      <input type="checkbox" name="show_reasons" checked={draft.show_reasons} />
      <span>
        Show names and reasons of maintenance windows <span class="soft">(why a run failed is never shown)</span>
      </span>
    </label>
    <label class="choice">
      <input type="checkbox" name="indexable" checked={draft.indexable} />
      <span>
        Search engines may list it <span class="soft">(never one with a password)</span>
      </span>
    </label>
    <TextField
      name="host"
      label="Host name of its own"
      value={draft.host}
      flaw={flawOf(errors, 'host')}
      placeholder="status.example.org"
      hint="Optional. Let the name lead to Rollcall: the page is then at its /, and nothing else of Rollcall is there."
      autocomplete="off"
    />
  </fieldset>
);
