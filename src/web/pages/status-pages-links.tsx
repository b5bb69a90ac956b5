import type { FC } from 'hono/jsx';
import { Secret } from './secret.tsx';

/** A thing a badge can be of: its public name, and what its address ends in. */
export type BadgeChoice = { readonly name: string; readonly query: string };

type LinksProps = {
  url: string;
  title: string;
  /** `?key=…` of a page with a password, or nothing. */
  keyQuery: string;
  choices: readonly BadgeChoice[];
  /** Where the images of this page come from: the same page at this address. */
  here: string;
};

/** Feeds, and what to paste where. */
export const StatusPageLinks: FC<LinksProps> = ({ url, title, keyQuery, choices, here }) => {
  const badge = `${url}/badge.svg${keyQuery}`;
  const shields = `https://img.shields.io/endpoint?url=${encodeURIComponent(`${url}/badge.json${keyQuery}`)}`;
  return (
    <section class="stack">
      <h2>Feeds and embed codes</h2>
      {keyQuery === '' ? null : (
        <p class="notice">
          This page has a password. The addresses below carry a key instead: whoever has one sees the page. A new
          password makes all of them useless.
        </p>
      )}
      <div class="columns">
        <Secret id="code-markdown" label="Badge for a README" value={`[![${markdown(title)}](${badge})](${url})`} />
        <Secret
          id="code-frame"
          label="The page in a frame of yours"
          value={`<iframe src="${url}/embed${keyQuery}" title="${attribute(title)}" width="100%" height="300" loading="lazy"></iframe>`}
        />
        <Secret id="code-shields" label="Badge by shields.io" value={shields} />
        <Secret id="code-atom" label="Atom feed of incidents" value={`${url}/feed.atom${keyQuery}`} />
        <Secret id="code-json-feed" label="JSON feed of incidents" value={`${url}/feed.json${keyQuery}`} />
        <Secret id="code-ical" label="Calendar of maintenance and runs" value={`${url}/calendar.ics${keyQuery}`} />
        <Secret id="code-status" label="Status as JSON" value={`${url}/status.json${keyQuery}`} />
      </div>
      <h2>Badges</h2>
      <table class="card folds">
        <thead>
          <tr>
            <th>Of</th>
            <th>Badge</th>
            <th>Address</th>
          </tr>
        </thead>
        <tbody>
          {choices.map(({ name, query }) => {
            const path = `/badge.svg${joined(keyQuery, query)}`;
            return (
              <tr>
                <td>{name}</td>
                <td>
                  <img src={here + path} alt={`Badge of ${name}`} height="20" loading="lazy" />
                </td>
                <td>
                  <code>{url + path}</code>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
};

const joined = (keyQuery: string, query: string): string =>
  query === '' ? keyQuery : `${keyQuery === '' ? '?' : `${keyQuery}&`}${query}`;

const markdown = (text: string): string => text.replaceAll(/[[\]\\]/g, '\\$&');
const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
