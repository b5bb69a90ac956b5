import type { FC } from 'hono/jsx';

/** Hears of changes of a project since `mark`; whatever has `liveAttributes` on the same page is read again then. */
export const Live: FC<{ project: string; mark: string }> = ({ project, mark }) => (
  <span
    id="live"
    hidden
    {...{
      'hx-sse:connect': `/projects/${project}/events?since=${encodeURIComponent(mark)}`,
      'hx-sse:close': 'ended',
    }}
  />
);

/**
 * For the element of this id: at each change it is read again from `path` and morphed in place, so that focus, what is
 * ticked and the place on the page stay. At most once in four seconds: a large project changes all the time. An answer that
 * is an error leaves everything as it is: the next change brings the page up to date.
 */
export const liveAttributes = (path: string, id: string) => ({
  'hx-get': path,
  'hx-trigger': 'changed from:#live throttle:4s',
  'hx-swap': 'outerMorph',
  'hx-select': `#${id}`,
  'hx-target': 'this',
  'hx-status:4xx': 'swap:none',
  'hx-status:5xx': 'swap:none',
});
