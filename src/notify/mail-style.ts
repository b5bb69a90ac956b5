import type { Story } from './story.ts';

const INK = '#1f2328';
const SOFT = '#5b626b';
const MONO = 'ui-monospace,SFMono-Regular,Menlo,Consolas,monospace';

export const WASHES: Readonly<Record<Story['mood'], { readonly ink: string; readonly wash: string }>> = {
  problem: { ink: '#b3261e', wash: '#fdecea' },
  recovered: { ink: '#18713c', wash: '#e8f5ec' },
  notice: { ink: '#1a5fb4', wash: '#e8f0fb' },
};

/** Light colours and measures stand in the elements, because some mail programs drop style sheets. */
export const STYLES = {
  page: `margin:0;padding:0;background:#ffffff;color:${INK};font:15px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;-webkit-text-size-adjust:100%`,
  column: 'max-width:600px;margin:0 auto;padding:16px;overflow-wrap:anywhere;word-break:break-word',
  band: 'border-radius:8px;padding:12px 16px 14px;margin:0 0 14px',
  tag: 'font-size:13px;line-height:1.4;font-weight:700;margin:0 0 2px',
  headline: 'font-size:20px;line-height:1.3;font-weight:600;margin:0',
  summary: 'font-size:16px;line-height:1.4;font-weight:600;margin:0',
  story: 'padding:0 0 0 13px;margin:20px 0 24px',
  title: 'font-size:16px;line-height:1.35;font-weight:600;margin:0 0 6px',
  line: 'padding:0 0 0 13px;margin:0 0 8px',
  lineTitle: 'font-size:15px;line-height:1.4;font-weight:400;margin:0',
  section: `font-size:13px;line-height:1.4;font-weight:600;color:${SOFT};margin:18px 0 4px`,
  table: 'border-collapse:collapse;margin:0',
  says: 'font-size:14px;line-height:1.4;margin:10px 0 4px',
  code: `font:12px/1.6 ${MONO};white-space:pre-wrap;overflow-wrap:anywhere;background:#f3f4f6;color:${INK};border-radius:6px;padding:8px 12px;margin:0 0 12px`,
  list: 'list-style:none;font-size:14px;margin:0;padding:0',
  more: 'font-size:14px;margin:4px 0 0',
  act: 'margin:14px 0 0',
  button: `display:inline-block;font-size:14px;font-weight:600;line-height:1.4;color:${INK};text-decoration:none;border:1px solid #8b929b;border-radius:6px;padding:8px 14px`,
  names: 'font-size:14px;margin:0',
  foot: `font-size:13px;color:${SOFT};border-top:1px solid #dfe2e6;padding:12px 0 0;margin:22px 0 0`,
  footLink: `color:${SOFT}`,
} as const;

/**
 * What elements that come by the hundred look like, and everything dark, for programs that say which they are. Gmail drops
 * a sheet of more than 8,192 characters altogether.
 */
export const SHEET = `:root{color-scheme:light dark}
.facts th{font-weight:400;text-align:left;vertical-align:top;color:${SOFT};padding:2px 16px 2px 0;white-space:nowrap}
.facts td{vertical-align:top;padding:2px 0}
.facts{font-variant-numeric:tabular-nums}
.list li{line-height:1.4;padding:0 0 4px}
@media (prefers-color-scheme:dark){
.page{background:#15181c!important;color:#e6e8eb!important}
.problem{background:#401c18!important}.problem .tag{color:#ffb3a7!important}
.recovered{background:#12301f!important}.recovered .tag{color:#7fdba4!important}
.notice{background:#16294a!important}.notice .tag{color:#a3c7ff!important}
.soft,.soft a,.facts th{color:#9ba1a8!important}
.code{background:#22272d!important;color:#e6e8eb!important}
.button{color:#e6e8eb!important;border-color:#6b737c!important}
.rule{border-color:#33383f!important}
}`;
