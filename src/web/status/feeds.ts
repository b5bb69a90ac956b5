import { Feed, type Item } from 'feed';
import { spokenDuration } from '../pages/time.tsx';
import { escaped, type Rendered, type Shown } from './representation.ts';
import { KIND_WORDS, momentText } from './words.ts';

type Entry = { readonly id: string; readonly at: number; readonly title: string; readonly text: string };

/** Incidents of 30 days and their ends, an entry each: readers tell people of new entries, and of no changed ones. */
export function atomFeed(shown: Shown): Rendered {
  // Its titles are HTML, those of JSON Feed are not.
  return { type: 'application/atom+xml; charset=utf-8', body: feedOf(shown, escaped).atom1() };
}

export function jsonFeed(shown: Shown): Rendered {
  return { type: 'application/feed+json; charset=utf-8', body: feedOf(shown, (title) => title).json1() };
}

function feedOf(shown: Shown, titleText: (title: string) => string): Feed {
  const { page, view, url, key } = shown;
  const entries = entriesOf(shown);
  const feed = new Feed({
    id: url,
    title: view.title,
    link: url,
    description: 'Incidents and their ends',
    // Equal answers while nothing happens: readers ask often.
    updated: new Date(entries[0]?.at ?? page.createdAt),
    generator: 'Rollcall',
    feedLinks: { atom: `${url}/feed.atom${key}`, json: `${url}/feed.json${key}` },
    author: { name: view.title },
  });
  for (const { id, at, title, text } of entries) {
    const item: Item = { id: `${url}#${id}`, link: `${url}#${id}`, date: new Date(at), title: titleText(title) };
    feed.addItem({ ...item, published: new Date(at), description: escaped(text) });
  }
  return feed;
}

function entriesOf({ view }: Shown): readonly Entry[] {
  const when = (at: number) => momentText(at, view.zone, view.asOf);
  return view.incidents
    .flatMap(({ id, job, kind, openedAt, endedAt }): Entry[] => {
      const words = KIND_WORDS[kind];
      const opened = { id, at: openedAt, title: `${job.name} ${words}`, text: `Since ${when(openedAt)}.` };
      if (endedAt === null) return [opened];
      const lasted = spokenDuration(Math.max(0, Math.round((endedAt - openedAt) / 1000)));
      const text = `From ${when(openedAt)} to ${when(endedAt)}. It ${words}.`;
      return [{ id: `${id}-end`, at: endedAt, title: `${job.name}: over after ${lasted}`, text }, opened];
    })
    .sort((a, b) => b.at - a.at);
}
