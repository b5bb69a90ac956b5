import { shownOutput } from './phrases.ts';
import { type Part, runLines, type Story } from './story.ts';
import type { Rest, Wording } from './wording.ts';

/** A line or block of a message, as plain text: whoever writes it down escapes it. */
export type Piece =
  | { readonly kind: 'title'; readonly mood: Story['mood']; readonly text: string }
  | { readonly kind: 'fact' | 'names'; readonly label: string; readonly text: string }
  | { readonly kind: 'run' | 'text' | 'command' | 'output'; readonly text: string }
  /** The address is ours: it stands as it is, but for what a markup itself asks for. */
  | { readonly kind: 'link'; readonly text: string; readonly url: string };

/** What a message is written on. `size` and `room` count what the service's limit counts. */
export type Paper<T> = {
  write(piece: Piece): T;
  size(written: T): number;
  readonly room: number;
};

/** `isShort`: something is left out altogether. */
export type Fitted<T> = { readonly written: readonly T[]; readonly isShort: boolean };

/** Of the room, what the titles of a group may take. */
const TITLES = 0.6;
/** Last characters of an output, and the fewest that are worth showing. */
const OUTPUT = { most: 1500, least: 80 };

/**
 * What stands below the headline, as much of it as there is room for. Room goes to the titles first, then to the names of
 * all the rest, ends before all, then to the details, each story its share; never more than `room` is taken.
 */
export function fitted<T>({ stories, rest, others }: Wording, paper: Paper<T>): Fitted<T> {
  const sheet: Sheet<T> = { paper, left: paper.room, isShort: false };
  const isAlone = stories.length === 1 && rest.length === 0;
  const share = (paper.room * TITLES) / stories.length;
  const titles = isAlone ? [] : stories.map((story) => putTitle(sheet, story, share));
  // A few lines, which a storm must not push out.
  const also = others === null ? [] : putNames(sheet, [others]);
  const names = [...putNames(sheet, rest), ...also];
  const told = stories.flatMap((story, index) => {
    const title = titles[index];
    const details = putDetails(sheet, story.parts, sheet.left / (stories.length - index));
    return title === undefined || title === null ? details : [title, ...details];
  });
  return { written: [...told, ...names], isShort: sheet.isShort };
}

type Sheet<T> = { readonly paper: Paper<T>; left: number; isShort: boolean };

function put<T>(sheet: Sheet<T>, piece: Piece, within: number): T | null {
  const written = sheet.paper.write(piece);
  const size = sheet.paper.size(written);
  if (size > within || size > sheet.left) {
    sheet.isShort = true;
    return null;
  }
  sheet.left -= size;
  return written;
}

type Lengths = { readonly least: number; readonly most: number; readonly within: number };

/** The longest version that fits: what is cut shows it by itself. */
function putLongest<T>(
  sheet: Sheet<T>,
  { least, most, within }: Lengths,
  version: (length: number) => Piece,
): T | null {
  const { paper } = sheet;
  const fits = (length: number): boolean => paper.size(paper.write(version(length))) <= Math.min(within, sheet.left);
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return put(sheet, version(low), within);
}

function putTitle<T>(sheet: Sheet<T>, { mood, title }: Story, within: number): T | null {
  const points = [...title];
  return putLongest(sheet, { least: Math.min(20, points.length), most: points.length, within }, (length) => {
    const text = length < points.length ? `${points.slice(0, length).join('')}…` : title;
    return { kind: 'title', mood, text };
  });
}

function putNames<T>(sheet: Sheet<T>, rest: readonly Rest[]): readonly T[] {
  const written = new Map<Rest, T | null>();
  const endsFirst = [...rest].sort((a, b) => Number(b.mood === 'recovered') - Number(a.mood === 'recovered'));
  for (const [index, one] of endsFirst.entries()) {
    const within = sheet.left / (endsFirst.length - index);
    const lengths = { least: Math.min(1, one.names.length), most: one.names.length, within };
    written.set(
      one,
      putLongest(sheet, lengths, (length) => namesPiece(one, length)),
    );
  }
  return rest.flatMap((one) => written.get(one) ?? []);
}

function namesPiece({ label, names }: Rest, length: number): Piece {
  const more = names.length - length;
  const text = `${names.slice(0, length).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return { kind: 'names', label, text };
}

/** Up to the first that does not fit: what is left out is a click away. */
function putDetails<T>(sheet: Sheet<T>, parts: readonly Part[], within: number): readonly T[] {
  const end = sheet.left - within;
  const written: T[] = [];
  for (const part of parts) {
    for (const piece of piecesOf(part)) {
      const room = sheet.left - end;
      const one = piece.kind === 'output' ? putOutput(sheet, piece.text, room / 2) : put(sheet, piece, room);
      if (one !== null) written.push(one);
      else if (piece.kind !== 'output') return written;
    }
  }
  return written;
}

/** The end of it, where the error is; never all the room, so that what can be done still follows. */
function putOutput<T>(sheet: Sheet<T>, output: string, within: number): T | null {
  const points = [...output];
  const most = Math.min(points.length, OUTPUT.most);
  return putLongest(sheet, { least: Math.min(OUTPUT.least, most), most, within }, (length) => {
    const text = length < points.length ? `…${points.slice(-length).join('')}` : output;
    return { kind: 'output', text };
  });
}

function piecesOf(part: Part): readonly Piece[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => ({ kind: 'fact', label, text }));
    case 'runs':
      return runLines(part).map((text) => ({ kind: 'run', text }));
    case 'advice':
      return [
        { kind: 'fact', label: 'What now', text: part.text },
        ...part.ways.flatMap(({ says, line }): readonly Piece[] => [
          { kind: 'text', text: says },
          { kind: 'command', text: line },
        ]),
      ];
    case 'link':
      return [part];
    case 'output': {
      const text = shownOutput(part.text);
      return text === '' ? [] : [{ kind: 'output', text }];
    }
  }
}

/** How one service writes text. What `write` and `foot` answer is escaped. */
export type TextStyle = {
  readonly limit: number;
  size(text: string): number;
  /** Null: it stands elsewhere. */
  readonly head: string | null;
  write(piece: Piece): string;
  foot(isShort: boolean): string;
};

/** A message of lines, within its limit. */
export function textMessage(words: Wording, { limit, size, head, write, foot }: TextStyle): string {
  const line = size('\n');
  const frame = (head === null ? 0 : size(head) + line) + size(foot(true));
  const paper = { write, size: (text: string) => size(text) + line, room: limit - frame };
  const { written, isShort } = fitted(words, paper);
  return [...(head === null ? [] : [head]), ...written, foot(isShort)].join('\n').replace(/^\n+/, '');
}
