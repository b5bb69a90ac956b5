import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { Field, Refusal, TextField } from '../form.tsx';
import { ChannelFields, RareFields, ThresholdFields } from './alert-fields.tsx';
import { DeadlineFields } from './deadline-fields.tsx';
import { type Draft, type ShownJob, textOf } from './draft.ts';
import { ToldFlaws } from './live-flaws.tsx';
import { PolicyFields } from './policy-fields.tsx';
import type { Preview } from './preview.ts';
import { SchedulePreview } from './preview-parts.tsx';
import { ReplayPanel, type ShownReplay } from './replay-panel.tsx';
import { ScheduleFields } from './schedule-fields.tsx';
import { DeadlineLine } from './time-line.tsx';

export type JobFormProps = {
  readonly projectPath: string;
  /** null: a new job. */
  readonly stored: ShownJob | null;
  readonly draft: Draft;
  readonly flaws: ReadonlyMap<string, string>;
  /** What the form as a whole was refused for. */
  readonly refusal: string | undefined;
  readonly preview: Preview;
  readonly viewerZone: Zone;
  readonly channels: readonly string[];
  readonly jobs: readonly string[];
  readonly replay: ShownReplay | null;
};

const LIVE = 'input delay:350ms from:"closest form", change delay:350ms from:"closest form"';

/** The whole definition of a job, what is common first; each part beside what it means. */
export const JobForm: FC<JobFormProps> = (props) => {
  const { projectPath, stored, draft, flaws, preview, viewerZone } = props;
  const path = stored ? `${projectPath}/jobs/${stored.slug}/edit` : `${projectPath}/jobs/+new`;
  const previewPath = `${projectPath}/jobs/preview`;
  return (
    <form method="post" action={path} class="stack-l editor" novalidate>
      {/* Enter sends what the first button says. */}
      <button class="unseen" type="submit" tabindex={-1}>
        Save
      </button>
      {stored ? <input type="hidden" name="job" value={stored.slug} /> : null}
      <ToldFlaws flaws={flaws} />
      <Refusal detail={props.refusal} />
      <NameFields draft={draft} flaws={flaws} isNew={stored === null} />
      <fieldset>
        <legend>Schedule</legend>
        <div class="beside">
          <ScheduleFields
            draft={draft}
            flaws={flaws}
            viewerZone={viewerZone}
            isNew={stored === null}
            action={previewPath}
          />
          <div
            class="stack aside"
            hx-post={previewPath}
            hx-trigger={LIVE}
            hx-include="closest form"
            hx-swap="innerMorph"
          >
            <SchedulePreview preview={preview} viewerZone={viewerZone} />
          </div>
        </div>
      </fieldset>
      <fieldset>
        <legend id="policy-legend">When nobody ran it</legend>
        <PolicyFields draft={draft} flaws={flaws} />
      </fieldset>
      <fieldset>
        <legend>Deadlines</legend>
        <div class="beside">
          <DeadlineFields draft={draft} flaws={flaws} />
          <div class="aside">
            <DeadlineLine deadlines={preview.deadlines} zone={preview.zone} />
          </div>
        </div>
      </fieldset>
      <fieldset>
        <legend>Who is told</legend>
        <div class="stack">
          <ChannelFields draft={draft} flaws={flaws} channels={props.channels} />
          <ThresholdFields draft={draft} flaws={flaws} />
        </div>
      </fieldset>
      <RareFields draft={draft} flaws={flaws} jobs={props.jobs} />
      {stored ? <ReplayPart {...props} stored={stored} /> : null}
      <div class="row">
        <button class="main" type="submit">
          {stored ? 'Save' : 'Create the job'}
        </button>
        <button type="submit" formaction={previewPath} formnovalidate>
          Preview
        </button>
        <a class="button" href={stored ? `${projectPath}/jobs/${stored.slug}` : projectPath}>
          Cancel
        </a>
      </div>
    </form>
  );
};

const NameFields: FC<Pick<JobFormProps, 'draft' | 'flaws'> & { isNew: boolean }> = ({ draft, flaws, isNew }) => (
  <div class="stack">
    <div class="fields">
      <TextField
        name="name"
        label="Name"
        value={textOf(draft, 'name')}
        flaw={flaws.get('name')}
        placeholder="Nightly backup"
        autocomplete="off"
      />
      {isNew ? (
        <TextField
          name="slug"
          label="Slug"
          value={textOf(draft, 'slug')}
          hint="Its name in addresses: a-z, 0-9, - and _. Empty: made of the name."
          flaw={flaws.get('slug')}
          autocomplete="off"
        />
      ) : null}
      <TextField
        name="tags"
        label="Tags"
        value={textOf(draft, 'tags')}
        hint="Between commas."
        flaw={flaws.get('tags')}
        autocomplete="off"
      />
    </div>
    <Field name="description" label="Description" flaw={flaws.get('description')}>
      {(attributes) => (
        <textarea {...attributes} class="short prose" rows={2}>
          {textOf(draft, 'description')}
        </textarea>
      )}
    </Field>
  </div>
);

const ReplayPart: FC<JobFormProps & { stored: ShownJob }> = ({ projectPath, stored, replay, viewerZone }) => {
  const path = `${projectPath}/jobs/${stored.slug}/replay`;
  return (
    <section class="stack" aria-labelledby="replay-title">
      <div class="row spread">
        <div>
          <h2 id="replay-title">Replay</h2>
          <p class="soft">
            What these settings would have told you of the last 30 days, by the pings that were really heard.
          </p>
        </div>
        <button
          type="submit"
          formaction={path}
          formnovalidate
          hx-post={path}
          hx-include="closest form"
          hx-target="#replay-result"
          hx-swap="innerHTML"
        >
          Replay the last 30 days
        </button>
      </div>
      <div id="replay-result">{replay ? <ReplayPanel {...replay} viewerZone={viewerZone} /> : null}</div>
    </section>
  );
};
