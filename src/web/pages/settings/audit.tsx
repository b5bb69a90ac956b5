import { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { type AuditEntry, readAudit } from '../../../store/audit.ts';
import { auditText } from '../../audit-words.ts';
import type { PageDeps } from '../deps.ts';
import { Time } from '../time.tsx';
import type { PageEnv } from '../viewer.ts';
import { answerSettings, settingsPath } from './frame.tsx';

const ON_A_PAGE = 50;

/** Every change of the project: who, when, what. */
export function auditPage({ assets, database }: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>().get('/settings/audit', async (c) => {
    const asked = Number(c.req.query('before'));
    const before = Number.isSafeInteger(asked) && asked > 0 ? asked : null;
    const found = await database.transaction((tx) => readAudit(tx, c.var.project.id, { before, limit: ON_A_PAGE + 1 }));
    const entries = found.slice(0, ON_A_PAGE);
    const older = found.length > ON_A_PAGE ? (entries.at(-1)?.id ?? null) : null;
    const base = settingsPath(c, '/audit');
    const page = (
      <Audit base={base} zone={c.var.viewerZone} entries={entries} older={older} isFirst={before === null} />
    );
    return answerSettings(c, { assets, part: '/audit' }, page);
  });
}

const Audit: FC<{
  base: string;
  zone: Zone;
  entries: readonly AuditEntry[];
  older: number | null;
  isFirst: boolean;
}> = ({ base, zone, entries, older, isFirst }) => (
  <>
    {entries.length === 0 ? (
      <p class="empty">Nothing was changed yet.</p>
    ) : (
      <div class="card flush">
        <table class="folds">
          <caption class="unseen">Audit log</caption>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">What</th>
              <th scope="col">
                <span class="unseen">Detail</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr>
                <td class="tight">
                  <Time at={entry.at} zone={zone} />
                </td>
                <td>{auditText(entry)}</td>
                <td>
                  <Detail detail={entry.detail} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
    <nav class="pager" aria-label="Pages of the log">
      {isFirst ? <span /> : <a href={base}>Newest</a>}
      {older === null ? <span class="soft">The beginning</span> : <a href={`${base}?before=${older}`}>Older</a>}
    </nav>
  </>
);

/** What exactly was written: for whoever has to know. */
const Detail: FC<{ detail: AuditEntry['detail'] }> = ({ detail }) =>
  Object.keys(detail).length === 0 ? null : (
    <details>
      <summary class="small">Detail</summary>
      <pre class="wrap small">{JSON.stringify(detail, null, 2)}</pre>
    </details>
  );
