import type { FC } from 'hono/jsx';
import { countText } from '../../../core/report-words.ts';
import type { PingReading } from '../../../engine/job-page.ts';
import { Time } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { kindWords, matchWords } from './words.ts';

/** What counted for no occurrence is told apart. */
const COUNTS_FOR_NONE: ReadonlySet<string> = new Set(['unmatched', 'off_schedule', 'deferred']);

/** Pings as they came, each with a link to what it said. `withoutKey`: all are about one occurrence, which is known. */
export const PingTable: FC<{
  view: JobView;
  pings: readonly PingReading[];
  caption: string;
  withoutKey?: boolean;
}> = ({ view, pings, caption, withoutKey }) => (
  <div class="card flush">
    <table class="folds">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Received</th>
          <th scope="col">Says</th>
          {withoutKey ? null : <th scope="col">About</th>}
          <th scope="col">Matched</th>
          <th scope="col">From</th>
          <th scope="col" class="num">
            Body
          </th>
        </tr>
      </thead>
      <tbody>
        {pings.map((ping) => (
          <tr class={ping.kind === 'fail' ? 'is-trouble' : COUNTS_FOR_NONE.has(ping.matchedBy) ? 'is-late' : ''}>
            <th scope="row" class="tight">
              <a href={`${view.base}/pings/${ping.id}`}>
                <Time at={ping.receivedAt} zone={view.job.zone} viewerZone={view.viewerZone} />
              </a>
              {ping.at === ping.receivedAt ? null : (
                <div class="small soft">
                  of <Time at={ping.at} zone={view.job.zone} viewerZone={view.viewerZone} />
                </div>
              )}
            </th>
            <td class="tight">
              {kindWords(ping)}
              {ping.rid === null ? null : (
                <div class="small soft">
                  run <code title={ping.rid}>{ping.rid.slice(0, 8)}</code>
                </div>
              )}
            </td>
            {withoutKey ? null : (
              <td class="tight" data-name="about">
                {ping.key === null ? (
                  <span class="soft">none</span>
                ) : (
                  <a class="mono" href={`${view.base}/occurrences/${ping.key}`}>
                    {ping.key.replace('T', ' ')}
                  </a>
                )}
              </td>
            )}
            <td class="small">{matchWords(ping)}</td>
            <td class="small" data-name="from">
              {ping.source ?? <span class="soft">unknown</span>}
              {ping.userAgent === null ? null : <div class="soft user-agent">{ping.userAgent}</div>}
            </td>
            <td class="num tight" {...(ping.bodyBytes > 0 ? { 'data-name': 'body' } : {})}>
              {ping.bodyBytes === 0 ? (
                ''
              ) : (
                <a href={`${view.base}/pings/${ping.id}`}>{countText(ping.bodyBytes)} bytes</a>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
