import type { StatusView } from '../../engine/status-pages-view.ts';
import type { StoredStatusPage } from '../../store/status-pages.ts';

/** What every representation of a page is made of. */
export type Shown = {
  readonly page: StoredStatusPage;
  readonly view: StatusView;
  /** Where it is asked for, without a slash at its end: `/status/{slug}`, or nothing at a host of its own. */
  readonly base: string;
  /** Where it is for everybody. */
  readonly url: string;
  /** What programs add to the addresses of a page with a password: `?key=…`, or nothing. */
  readonly key: string;
  /** The database is away: this is how it stood. */
  readonly isStale: boolean;
};

export type Rendered = { readonly type: string; readonly body: string };

/** Text as it stands in HTML and XML. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
