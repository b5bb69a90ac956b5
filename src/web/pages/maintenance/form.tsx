import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { Field, Refusal, TextField } from '../form.tsx';
import { type Draft, textOf } from '../job-editor/draft.ts';
import { JobSlugs } from '../job-slugs.tsx';
import { ZoneField } from '../zone-field.tsx';
import { DAYS, type ShownWindow, WINDOW_KINDS, type WindowKind, weeklyRows, windowKindOf } from './draft.ts';
import { WindowPreviewPart } from './preview.tsx';
import type { WindowPreview } from './stretches.ts';

export type WindowFormProps = {
  /** Of all windows of the project. */
  readonly path: string;
  /** null: a new one. */
  readonly stored: ShownWindow | null;
  readonly draft: Draft;
  readonly flaws: ReadonlyMap<string, string>;
  readonly refusal: string | undefined;
  readonly preview: WindowPreview;
  readonly viewerZone: Zone;
  /** Slugs to choose from. */
  readonly jobs: readonly string[];
};

type Fields = Pick<WindowFormProps, 'draft' | 'flaws'>;

const LIVE = 'input delay:350ms from:"closest form", change delay:350ms from:"closest form"';

const KINDS: Readonly<Record<WindowKind, readonly [string, string]>> = {
  once: ['Once', 'from one instant to another'],
  weekly: ['Every week', 'at local times'],
  cron: ['By cron', 'whenever an expression is due'],
  ics: ['A calendar', 'the text of an .ics file'],
  ics_url: ['A calendar by its address', 'read once a day'],
};

/** The whole definition of a window, with what it means beside it. */
export const WindowForm: FC<WindowFormProps> = (props) => {
  const { path, stored, draft, flaws, preview, viewerZone } = props;
  const previewPath = `${path}/preview`;
  return (
    <form
      method="post"
      action={stored ? `${path}/${stored.slug}/edit` : `${path}/+new`}
      enctype="multipart/form-data"
      class="stack-l"
      novalidate
    >
      {/* Enter sends what the first button says. */}
      <button class="unseen" type="submit" tabindex={-1}>
        Save
      </button>
      {stored ? <input type="hidden" name="window" value={stored.slug} /> : null}
      <Refusal detail={props.refusal} />
      <div class="fields">
        <Text draft={draft} flaws={flaws} name="name" label="Name" hint="In the note of all that is skipped." />
        {stored ? null : <Text draft={draft} flaws={flaws} name="slug" label="Slug" hint="Empty: made of the name." />}
        <Text
          draft={draft}
          flaws={flaws}
          name="reason"
          label="Reason"
          hint="May be empty. Who said so is noted beside it."
        />
      </div>
      <fieldset>
        <legend>When</legend>
        <div class="beside">
          <WhenFields draft={draft} flaws={flaws} viewerZone={viewerZone} action={previewPath} />
          <div class="aside" hx-post={previewPath} hx-trigger={LIVE} hx-include="closest form" hx-swap="innerMorph">
            <WindowPreviewPart preview={preview} viewerZone={viewerZone} />
          </div>
        </div>
      </fieldset>
      <fieldset>
        <legend>Whom</legend>
        <WhomFields draft={draft} flaws={flaws} jobs={props.jobs} />
      </fieldset>
      <div class="row">
        <button class="main" type="submit">
          {stored ? 'Save' : 'Create the window'}
        </button>
        <button type="submit" formaction={previewPath} formnovalidate>
          Preview
        </button>
        <a class="button" href={stored ? `${path}/${stored.slug}` : path}>
          Cancel
        </a>
      </div>
    </form>
  );
};

const Text: FC<
  Fields & { name: string; label: string; hint?: string; type?: string; placeholder?: string; list?: string }
> = ({ draft, flaws, name, ...rest }) => (
  <TextField name={name} value={textOf(draft, name)} flaw={flaws.get(name)} autocomplete="off" {...rest} />
);

const WhenFields: FC<Fields & { viewerZone: Zone; action: string }> = ({ draft, flaws, viewerZone, action }) => {
  const kind = windowKindOf(draft);
  return (
    <div class="stack window-fields">
      <fieldset class="plain">
        <legend class="unseen">Kind</legend>
        {WINDOW_KINDS.map((value) => (
          <label class="choice">
            <input type="radio" name="kind" value={value} {...(value === kind ? { checked: true } : {})} />
            <span>
              {KINDS[value][0]} <span class="soft">· {KINDS[value][1]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="fields for-once">
        <Text draft={draft} flaws={flaws} name="from" label="From" type="datetime-local" hint="Empty: now." />
        <Text draft={draft} flaws={flaws} name="until" label="Until" type="datetime-local" hint="Or write how long." />
        <Text
          draft={draft}
          flaws={flaws}
          name="duration"
          label="For"
          placeholder="2h"
          hint="Instead of until: 30m, 2h, 3d."
        />
      </div>
      <WeeklyFields draft={draft} flaws={flaws} />
      <div class="fields for-cron">
        <Text
          draft={draft}
          flaws={flaws}
          name="cron"
          label="Cron"
          placeholder="0 2 1 * *"
          hint="Each time it is due, a window begins."
        />
        <Text
          draft={draft}
          flaws={flaws}
          name="cron_duration"
          label="For"
          placeholder="3h"
          hint="Elapsed time, at most 31d."
        />
      </div>
      <div class="stack-s for-ics">
        <Field
          name="ics"
          label="Calendar"
          hint="The text of an .ics file, at most 1 MB. Its events are the windows."
          flaw={flaws.get('ics')}
        >
          {(attributes) => (
            <textarea {...attributes} rows={5} spellcheck={false}>
              {textOf(draft, 'ics')}
            </textarea>
          )}
        </Field>
        <label class="stack-s">
          <span>or a file</span>
          <input type="file" name="ics_file" accept=".ics,text/calendar" />
        </label>
      </div>
      <div class="for-ics_url">
        <Text
          draft={draft}
          flaws={flaws}
          name="ics_url"
          label="Address"
          type="url"
          placeholder="https://example.org/holidays.ics"
          hint="https. For webcal:// write https://. It is read when this is saved, and once a day."
        />
      </div>
      <ZoneField
        value={textOf(draft, 'zone')}
        flaw={flaws.get('zone')}
        hint="Of these local times; of a calendar: of all-day events and of times without a zone."
        offers={textOf(draft, 'zone') === '' ? [...new Set([viewerZone.name, 'UTC'])] : []}
        action={action}
        preview="#window-preview"
      />
    </div>
  );
};

const WeeklyFields: FC<Fields> = ({ draft, flaws }) => (
  <div class="stack-s for-weekly">
    {weeklyRows(draft).map((row) => (
      <fieldset class="plain weekly-row">
        <legend class="unseen">Row {row + 1}</legend>
        <div class="choices">
          {DAYS.map((day) => (
            <label class="choice">
              <input
                type="checkbox"
                name={`weekly.${row}.days`}
                value={day}
                {...((draft[`weekly.${row}.days`] ?? []).includes(day) ? { checked: true } : {})}
              />
              <span>{day.charAt(0).toUpperCase() + day.slice(1)}</span>
            </label>
          ))}
        </div>
        <div class="row">
          <label>
            <span class="soft">at</span>{' '}
            <input type="time" size={6} name={`weekly.${row}.start`} value={textOf(draft, `weekly.${row}.start`)} />
          </label>
          <label>
            <span class="soft">for</span>{' '}
            <input
              type="text"
              size={6}
              placeholder="4h"
              name={`weekly.${row}.duration`}
              value={textOf(draft, `weekly.${row}.duration`)}
              autocomplete="off"
            />
          </label>
        </div>
      </fieldset>
    ))}
    {flaws.has('weekly') ? <p class="wrong">{flaws.get('weekly')}</p> : null}
    <p class="hint-line">
      Windows begin by the local clock and last by elapsed time. Preview adds empty rows when all are filled.
    </p>
  </div>
);

const WhomFields: FC<Fields & Pick<WindowFormProps, 'jobs'>> = ({ draft, flaws, jobs }) => {
  const isSome = textOf(draft, 'who') === 'some';
  return (
    <div class="stack whom-fields">
      <div>
        <label class="choice">
          <input type="radio" name="who" value="all" {...(isSome ? {} : { checked: true })} />
          <span>Every job of the project, later ones too</span>
        </label>
        <label class="choice">
          <input type="radio" name="who" value="some" {...(isSome ? { checked: true } : {})} />
          <span>Jobs by slug or tag</span>
        </label>
      </div>
      <div class="fields some">
        <Text draft={draft} flaws={flaws} name="jobs" label="Jobs" hint="Slugs, between commas." list="job-slugs" />
        <JobSlugs slugs={jobs} />
        <Text
          draft={draft}
          flaws={flaws}
          name="tags"
          label="Tags"
          hint="Between commas; a job with one of them is in it."
        />
      </div>
    </div>
  );
};
