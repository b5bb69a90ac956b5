import type { MailFoot } from './mail-foot.ts';
import { SHEET, STYLES, WASHES } from './mail-style.ts';
import { fittingNames, isLongList } from './mail-text.ts';
import { shownOutput } from './phrases.ts';
import type { Part, Story } from './story.ts';
import type { Rest, Wording } from './wording.ts';

/** The HTML part: the same as the text, readable without images and without any style. */
export function mailHtml({ headline, stories, rest, others, link }: Wording, foot: MailFoot): string {
  const [worst] = stories;
  const alone = stories.length === 1 && rest.length === 0 ? worst : undefined;
  const told = alone ? partsHtml(alone.parts.filter((part) => !isLongList(part))) : stories.map(groupedHtml).join('\n');
  const lists = alone?.parts.filter(isLongList) ?? [];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(headline)}</title>
<style>${SHEET}</style></head>
<body class="page" style="${STYLES.page}">
<div style="${STYLES.column}">
${bandHtml(headline, worst?.mood ?? 'notice', alone?.label)}
${told}
${rest.map(restHtml).join('\n')}
${others === null ? '' : `${sectionHtml(others.label)}${listHtml(others.names)}`}
${lists.map((list) => partHtml(list, false)).join('\n')}
${footHtml(link, foot)}
</div></body></html>
`;
}

/** What one sees first: what it is, in its colour, and the line that says everything. */
function bandHtml(headline: string, mood: Story['mood'], label: string | undefined): string {
  const { ink, wash } = WASHES[mood];
  const tag = label ? `<div class="tag" style="${STYLES.tag};color:${ink}">${escapeHtml(capital(label))}</div>\n` : '';
  const size = label && headline.length <= 100 ? STYLES.headline : STYLES.summary;
  return `<div class="${mood}" style="${STYLES.band};background:${wash}">${tag}<h1 style="${size}">${wholeTimes(headline)}</h1></div>`;
}

/** One of several: a line, or a title with its facts. */
function groupedHtml({ mood, title, parts }: Story): string {
  const [edge, head] = parts.length > 0 ? [STYLES.story, STYLES.title] : [STYLES.line, STYLES.lineTitle];
  const told = partsHtml(parts);
  return `<div style="${edge};border-left:3px solid ${EDGES[mood]}"><h2 style="${head}">${wholeTimes(title)}</h2>${told}</div>`;
}

/** Seen on light and on dark. */
const EDGES: Readonly<Record<Story['mood'], string>> = { problem: '#d64236', recovered: '#2e9e5b', notice: '#3d84e0' };

const partsHtml = (parts: readonly Part[]): string =>
  parts.map((part, index) => partHtml(part, index === 0)).join('\n');

function partHtml(part: Part, isFirst: boolean): string {
  switch (part.kind) {
    case 'facts':
      return `${isFirst ? '' : GAP}${tableHtml(part.facts.map(({ label, text }) => [wholeTimes(label), wholeTimes(text)]))}`;
    case 'runs': {
      const rows = part.runs.map(({ when, fate }) => [wholeTimes(when), escapeHtml(fate)] as const);
      const more = part.more > 0 ? `<p style="${STYLES.more}">and ${part.more} more</p>` : '';
      return `${isFirst ? '' : sectionHtml('Runs')}${tableHtml(rows)}${more}`;
    }
    case 'advice': {
      const ways = part.ways.map(
        ({ says, line }) => `<p style="${STYLES.says}">${escapeHtml(says)}</p>${codeHtml(wholeWords(line))}`,
      );
      return `${sectionHtml('What now')}<p style="margin:0">${escapeHtml(part.text)}</p>${ways.join('\n')}`;
    }
    case 'link':
      return `<p style="${STYLES.act}"><a class="button" href="${escapeHtml(part.url)}" style="${STYLES.button}">${escapeHtml(part.text)}</a></p>`;
    case 'output':
      return `${sectionHtml('Last output')}${codeHtml(escapeHtml(shownOutput(part.text)))}`;
  }
}

const GAP = '<div style="height:10px"></div>';

/** The cells are HTML. */
function tableHtml(rows: readonly (readonly [label: string, value: string])[]): string {
  const lines = rows.map(
    ([label, value]) => `<tr><th class="soft" align="left" valign="top">${label}</th><td>${value}</td></tr>`,
  );
  return `<table class="facts" style="${STYLES.table}" cellpadding="0" cellspacing="0">${lines.join('\n')}</table>`;
}

const sectionHtml = (title: string): string => `<h2 class="soft" style="${STYLES.section}">${escapeHtml(title)}</h2>`;

const codeHtml = (html: string): string => `<pre class="code" style="${STYLES.code}">${html}</pre>`;

const listHtml = (lines: readonly string[]): string =>
  `<ul class="list" style="${STYLES.list}">${lines.map((line) => `<li>${wholeTimes(line)}</li>`).join('\n')}</ul>`;

function restHtml(rest: Rest): string {
  const { names, more } = fittingNames(rest);
  const shown = names.map(wholeWords).join(', ');
  return `${sectionHtml(capital(rest.label))}<p style="${STYLES.names}">${shown}${more > 0 ? ` and ${more} more` : ''}</p>`;
}

function footHtml(link: string, { to, unsubscribeUrl }: MailFoot): string {
  const linked = (url: string, text: string): string =>
    `<a href="${escapeHtml(url)}" style="${STYLES.footLink}">${escapeHtml(text)}</a>`;
  const end = unsubscribeUrl === null ? '' : `<br>Sent to ${escapeHtml(to)}. ${linked(unsubscribeUrl, 'Unsubscribe')}`;
  return `<p class="soft rule" style="${STYLES.foot}">Rollcall: ${linked(link, link)}${end}</p>`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Words that fit in a line of a phone are not broken at a hyphen. (No style sheet is needed for this old element.) */
function wholeWords(text: string): string {
  return text.replace(/\S+/g, (word) =>
    word.includes('-') && word.length <= 42 ? `<nobr>${escapeHtml(word)}</nobr>` : escapeHtml(word),
  );
}

const TIME = /\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?: ?(?:[+-]\d\d:\d\d|UTC)|Z)?)?|\([\w ,]{1,20}\)$/g;

/** Text in which every time stays on one line, and so does what stands in brackets at the end. */
function wholeTimes(text: string): string {
  let html = '';
  let from = 0;
  for (const { 0: whole, index } of text.matchAll(TIME)) {
    html += `${escapeHtml(text.slice(from, index))}<nobr>${escapeHtml(whole)}</nobr>`;
    from = index + whole.length;
  }
  return html + escapeHtml(text.slice(from));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
