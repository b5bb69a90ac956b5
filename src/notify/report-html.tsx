import type { FC } from 'hono/jsx';
import type { MailFoot } from './mail-foot.ts';
import { SHEET, STYLES } from './mail-style.ts';
import type { Head } from './report-head.ts';
import type { Row, Section } from './report-sections.ts';

/** What only a report has; the rest looks as every mail does. */
const OWN = {
  title: 'font-size:20px;line-height:1.3;font-weight:600;margin:0 0 2px',
  span: 'font-size:13px;line-height:1.4;margin:0 0 16px',
  warning: 'font-size:14px;border-radius:8px;padding:10px 14px;margin:0 0 16px;background:#e8f0fb',
  share: 'font-size:30px;line-height:1.2;font-weight:700;margin:0;font-variant-numeric:tabular-nums',
  line: 'margin:2px 0 0',
  bar: 'border-collapse:collapse;margin:10px 0 8px',
  heading: 'font-size:16px;line-height:1.35;font-weight:600;margin:28px 0 6px',
  table: 'border-collapse:collapse;margin:0 0 8px',
  figure:
    'padding:7px 14px 7px 0;white-space:nowrap;vertical-align:top;text-align:right;font-weight:600;width:1%;font-variant-numeric:tabular-nums',
  cell: 'padding:7px 0;vertical-align:top',
  name: 'font-weight:600',
  detail: 'font-size:14px;line-height:1.45',
  rule: 'border-top:1px solid #dfe2e6',
  note: 'margin:6px 0 0',
} as const;
const SOFT = 'color:#5b626b';

type Parts = {
  readonly head: Head;
  readonly sections: readonly Section[];
  readonly link: string;
  readonly foot: MailFoot;
};

/** The HTML part: readable without images and without a style sheet, narrow or wide, light or dark. */
export function reportHtml(parts: Parts): string {
  return `<!doctype html>\n${(<Page {...parts} />).toString()}\n`;
}

const Page: FC<Parts> = ({ head, sections, link, foot }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="supported-color-schemes" content="light dark" />
      <title>{head.title}</title>
      <style dangerouslySetInnerHTML={{ __html: SHEET }} />
    </head>
    <body class="page" style={STYLES.page}>
      <div style={STYLES.column}>
        <h1 style={OWN.title}>{head.title}</h1>
        <p class="soft" style={`${OWN.span};${SOFT}`}>
          <Text of={head.span} />
          <br />
          as of <Text of={head.asOf} />
        </p>
        {head.warnings.map((warning) => (
          <p class="notice" style={OWN.warning}>
            <Text of={warning} />
          </p>
        ))}
        <Numbers {...head} />
        {sections.map((section) => (
          <SectionView {...section} />
        ))}
        <p class="soft rule" style={STYLES.foot}>
          {head.formula}
        </p>
        <p class="soft" style={`font-size:13px;${SOFT};margin:12px 0 0`}>
          Rollcall: <FootLink url={link} text={link} />
          {foot.unsubscribeUrl === null ? null : (
            <>
              <br />
              Sent to {foot.to}. <FootLink url={foot.unsubscribeUrl} text="Unsubscribe" />
            </>
          )}
        </p>
      </div>
    </body>
  </html>
);

const TIME = /(\d{4}-\d\d(?:-\d\d)?(?: \d\d:\d\d)?(?: (?:[+-]\d\d:\d\d|UTC))?)/;

/** Text in which every time stays on one line. */
const Text: FC<{ readonly of: string }> = ({ of }) => (
  <>{of.split(TIME).map((part, i) => (i % 2 === 0 ? part : <span style="white-space:nowrap">{part}</span>))}</>
);

const FootLink: FC<{ readonly url: string; readonly text: string }> = ({ url, text }) => (
  <a href={url} style={STYLES.footLink}>
    {text}
  </a>
);

const Numbers: FC<Head> = ({ share, shareText, of, others, apart }) => (
  <div>
    <p style={OWN.share}>{shareText}</p>
    <p style={OWN.line}>{of}</p>
    {share === null ? null : <Bar share={share} />}
    {others === '' ? null : <p style={OWN.line}>{others}</p>}
    {apart === '' ? null : (
      <p class="soft" style={`${OWN.line};${SOFT}`}>
        apart: {apart}
      </p>
    )}
  </div>
);

/** Cells of a table, because that is what every mail program draws. The smallest part that is not nothing shows. */
const Bar: FC<{ readonly share: number }> = ({ share }) => {
  const width = share === 0 || share === 1 ? share * 100 : Math.min(99, Math.max(1, Math.round(share * 100)));
  const cell = (colour: string, percent: number) => (
    <td width={`${percent}%`} style={`background:${colour};height:8px;line-height:8px;font-size:1px;padding:0`}>
      &nbsp;
    </td>
  );
  return (
    <table role="presentation" width="100%" cellpadding={0} cellspacing={0} style={OWN.bar}>
      <tr>
        {width > 0 ? cell('#2e9e5b', width) : null}
        {width < 100 ? cell('#d64236', 100 - width) : null}
      </tr>
    </table>
  );
};

const SectionView: FC<Section> = ({ title, rows, notes, ways }) => {
  const hasFigures = rows.some(({ figure }) => figure !== null);
  return (
    <div>
      <h2 style={OWN.heading}>{title}</h2>
      {rows.length === 0 ? null : (
        <table width="100%" cellpadding={0} cellspacing={0} style={OWN.table}>
          {rows.map((row) => (
            <RowView row={row} hasFigures={hasFigures} />
          ))}
        </table>
      )}
      {notes.map((note) => (
        <p style={OWN.note}>
          <Text of={note} />
        </p>
      ))}
      {ways.map(({ says, line }) => (
        <>
          <p style={STYLES.says}>{says}</p>
          <pre class="code" style={STYLES.code}>
            {line}
          </pre>
        </>
      ))}
    </div>
  );
};

const RowView: FC<{ readonly row: Row; readonly hasFigures: boolean }> = ({ row, hasFigures }) => (
  <tr>
    {hasFigures ? (
      <td class="rule" style={`${OWN.figure};${OWN.rule}`}>
        {row.figure ?? ''}
      </td>
    ) : null}
    <td class="rule" style={`${OWN.cell};${OWN.rule}`}>
      <div style={OWN.name}>
        <Text of={row.name} />
      </div>
      {row.details.map((detail) => (
        <div class="soft" style={`${OWN.detail};${SOFT}`}>
          <Text of={detail} />
        </div>
      ))}
    </td>
  </tr>
);
