import type { MailFoot } from './mail-foot.ts';
import { shownOutput } from './phrases.ts';
import { type Part, runLines, type Story } from './story.ts';
import type { Rest, Wording } from './wording.ts';

/** The text part of a mail: the first line says everything, and nothing is in the HTML part only. */
export function mailText({ headline, stories, rest, others, link }: Wording, { to, unsubscribeUrl }: MailFoot): string {
  const isAlone = stories.length === 1 && rest.length === 0;
  const lists = isAlone ? stories.flatMap(({ parts }) => parts.filter(isLongList)) : [];
  const told = stories.map(({ parts, ...story }) =>
    storyText({ ...story, parts: isAlone ? parts.filter((part) => !isLongList(part)) : parts }, isAlone),
  );
  // Without facts they are a list, without gaps.
  const isList = stories.every(({ parts }) => parts.every(({ kind }) => kind === 'runs'));
  const foot = [
    `Rollcall: ${link}`,
    ...(unsubscribeUrl === null ? [] : [`No more of these to ${to}: ${unsubscribeUrl}`]),
  ];
  const all = [
    headline,
    ...(isList ? [told.join('\n')] : told),
    rest.map(restText).join('\n'),
    others === null ? '' : restText(others),
    ...lists.map((part) => partText(part, false).join('\n')),
    foot.join('\n'),
  ];
  return `${all.filter((part) => part !== '').join('\n\n')}\n`;
}

function storyText({ title, parts }: Story, isAlone: boolean): string {
  const told = parts.map((part, index) => partText(part, index === 0).join('\n'));
  // Facts stand together, and everything else by itself.
  return [...(isAlone ? [] : [`* ${title}`]), told.join(isAlone ? '\n\n' : '\n')].filter((it) => it !== '').join('\n');
}

function partText(part: Part, isFirst: boolean): readonly string[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => `${label}: ${text}`);
    case 'runs':
      return [...(isFirst ? [] : ['Runs:']), ...runLines(part).map((line) => `  - ${line}`)];
    case 'advice':
      return [`What now: ${part.text}`, ...part.ways.flatMap(({ says, line }) => [says, line.replace(/^/gm, '    ')])];
    case 'link':
      return [`${part.text}: ${part.url}`];
    case 'output':
      return ['Last output:', shownOutput(part.text).replace(/^/gm, '  | ')];
  }
}

function restText(rest: Rest): string {
  const { names, more } = fittingNames(rest);
  return `${rest.label}: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Characters of one list of names: no mailbox wants a megabyte, and Gmail clips what is over 100 kB. */
const NAMES = 20_000;

/** Names as far as they fit. */
export function fittingNames({ names }: Rest): { readonly names: readonly string[]; readonly more: number } {
  let room = NAMES;
  const cut = names.findIndex((name) => {
    room -= name.length + 2;
    return room < 0;
  });
  const kept = cut === -1 ? names : names.slice(0, cut);
  return { names: kept, more: names.length - kept.length };
}

/** A list of so many runs stands at the end of a mail, behind what is short. */
export const isLongList = (part: Part): boolean => part.kind === 'runs' && part.runs.length > 10;
