import type { FC } from 'hono/jsx';
import { countText } from '../../../core/report-words.ts';
import type { Zone } from '../../../core/zone.ts';
import type { ApiFlaw } from '../call.ts';
import { Field, flawOf, Refusal, TextField } from '../form.tsx';
import { type Filter, filterPath, filterQuery, isFiltered, SORTS, STATUS_FILTERS } from './filter.ts';
import type { Board } from './read.ts';

/** What a bulk form that was refused had in it. */
export type BulkState = {
  readonly detail?: string | undefined;
  readonly errors: readonly ApiFlaw[];
  readonly until: string;
  readonly reason: string;
  readonly isAll: boolean;
};

/** Search, tag, status and order: a form that works with GET, so that a view has an address. */
export const FilterForm: FC<{ project: string; filter: Filter; tags: Board['tags'] }> = ({ project, filter, tags }) => (
  <search id="filter" hx-morph-skip="">
    <form class="row filter" method="get" action={`/projects/${project}`}>
      <input
        type="search"
        name="q"
        value={filter.q}
        placeholder="Name, slug or tag"
        aria-label="Search jobs"
        autocomplete="off"
      />
      {tags.length === 0 ? null : (
        <select name="tag" aria-label="Tag">
          <option value="">All tags</option>
          {tags.map(([tag, jobs]) => (
            <option value={tag} {...(tag === filter.tag ? { selected: true } : {})}>
              {tag} ({countText(jobs)})
            </option>
          ))}
        </select>
      )}
      <Choice name="status" label="Status" chosen={filter.status} options={{ '': 'Every status', ...STATUS_FILTERS }} />
      <Choice name="sort" label="Order" chosen={filter.sort} options={SORTS} />
      <button type="submit">Show</button>
      {isFiltered(filter) ? (
        <a href={filterPath(project, { ...filter, q: '', tag: '', status: '' })}>Show all</a>
      ) : null}
    </form>
  </search>
);

const Choice: FC<{ name: string; label: string; chosen: string; options: Readonly<Record<string, string>> }> = ({
  name,
  label,
  chosen,
  options,
}) => (
  <select name={name} aria-label={label}>
    {Object.entries(options).map(([value, text]) => (
      <option value={value} {...(value === chosen ? { selected: true } : {})}>
        {text}
      </option>
    ))}
  </select>
);

/** Pause, resume, or maintenance for the ticked jobs of the list, or for all that the filter lets through. */
export const BulkForm: FC<{
  project: string;
  filter: Filter;
  matching: number;
  viewerZone: Zone;
  state: BulkState | undefined;
}> = ({ project, filter, matching, viewerZone, state }) => (
  <details id="bulk-panel" class="card bulk" hx-morph-skip="" {...(state ? { open: true } : {})}>
    <summary>Change several jobs at once</summary>
    <form id="bulk" class="stack" method="post" action={`/projects/${project}/bulk${filterQuery(filter)}`}>
      <Refusal detail={state?.detail} />
      <label class="choice">
        <input type="checkbox" name="all" value="1" {...(state?.isAll ? { checked: true } : {})} />
        Not only the ticked ones: everything {isFiltered(filter) ? 'that the search finds' : 'in the project'} (
        {countText(matching)})
      </label>
      <div class="row">
        <button type="submit" name="action" value="pause">
          Pause
        </button>
        <button type="submit" name="action" value="resume">
          Resume
        </button>
        <span class="small soft">A paused job is not judged: what is due until it is resumed is skipped.</span>
      </div>
      <div class="fields">
        <Field
          name="until"
          label="Maintenance until"
          hint={`Local time in ${viewerZone.name}. What is due from now until then and does not run is skipped.`}
          flaw={flawOf(state?.errors ?? [], 'until')}
        >
          {(attributes) => <input {...attributes} type="datetime-local" value={state?.until ?? ''} />}
        </Field>
        <TextField
          name="reason"
          label="Reason"
          value={state?.reason}
          hint="Is noted on every occurrence that is skipped."
          flaw={flawOf(state?.errors ?? [], 'reason')}
        />
      </div>
      <div class="row">
        <button type="submit" name="action" value="maintenance">
          Put under maintenance
        </button>
      </div>
    </form>
  </details>
);
