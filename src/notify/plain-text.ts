import { type Piece, textMessage } from './fitting.ts';
import { plain } from './phrases.ts';
import { MARKS } from './story.ts';
import type { Wording } from './wording.ts';

/** A message without any markup, within `limit` of what `size` counts. The first line says everything. */
export function plainMessage(
  words: Wording,
  { limit, size }: { readonly limit: number; readonly size: (text: string) => number },
): string {
  return textMessage(words, {
    limit,
    size,
    head: plain(words.headline, 450),
    write,
    foot: (isShort) => `\n${isShort ? 'Cut short. ' : ''}Rollcall: ${words.link}`,
  });
}

function write(piece: Piece): string {
  switch (piece.kind) {
    case 'title':
      return `\n${MARKS[piece.mood]} ${piece.text}`;
    case 'fact':
      return `${piece.label}: ${piece.text}`;
    case 'names':
      return `\n${piece.label}: ${piece.text}`;
    case 'run':
      return `• ${piece.text}`;
    case 'text':
      return piece.text;
    case 'command':
      return piece.text.replace(/^/gm, '  ');
    case 'link':
      return `${piece.text}: ${piece.url}`;
    case 'output':
      return `Last output:\n${piece.text.replace(/^/gm, '| ')}`;
  }
}
