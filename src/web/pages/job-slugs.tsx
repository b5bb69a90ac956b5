import type { FC } from 'hono/jsx';

/** More than a browser shows anybody. */
const MOST_OFFERED = 500;

/** Slugs of jobs that a field with `list="job-slugs"` offers; others can be typed. */
export const JobSlugs: FC<{ slugs: Iterable<string> }> = ({ slugs }) => (
  <datalist id="job-slugs">
    {[...slugs]
      .sort()
      .slice(0, MOST_OFFERED)
      .map((slug) => (
        <option value={slug} />
      ))}
  </datalist>
);
