import { contentToText } from '../../platform/content/index.ts';
import { findInText } from '../../providers/registry/index.ts';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A piece of a text that is never divided: a link, a mention, a hashtag, or one sign as people see it. */
interface Piece {
  start: number;
  end: number;
  /** How good it is to end a part before the piece: 3 a new line, 2 a new sentence, 1 a new word, 0 anything else. */
  rank: 0 | 1 | 2 | 3;
  isBlank: boolean;
}

/**
 * Divides a content into plain texts of at most `length` UTF-16 units each, which is as short as any network counts. A
 * part ends at a line, else at a sentence, else between words; a link, mention or grapheme stays whole, and is longer
 * than that where it has to be. The time is linear in the length of the text.
 */
export function separateContent(content: string, length: number): string[] {
  const text = contentToText(content);
  const pieces = piecesOf(text);
  const parts: string[] = [];
  let first = 0;
  while (first < pieces.length) {
    if (pieces[first]!.isBlank) {
      first += 1; // a part begins with a sign
      continue;
    }
    const next = endOf(pieces, first, length);
    parts.push(text.slice(pieces[first]!.start, pieces[next - 1]!.end).trimEnd());
    first = next;
  }
  return parts;
}

/** The first piece that is not in the part that begins with `first`. */
function endOf(pieces: readonly Piece[], first: number, length: number): number {
  const { start } = pieces[first]!;
  /** Of each rank the last place in reach. */
  const best: [number, number, number] = [0, 0, 0];
  let n = first + 1;
  for (; n < pieces.length; n++) {
    const { end, rank, isBlank } = pieces[n]!;
    if (rank > 0) best[rank - 1] = n;
    if (end - start > length && !isBlank) break; // blanks at the end are cut off
  }
  if (n === pieces.length) return n;
  const [word, sentence, line] = best;
  // a line or a sentence is kept whole where the part is not much shorter for it
  const isLong = (at: number) => at > first && pieces[at]!.start - start >= length / 2;
  if (isLong(line)) return line;
  if (isLong(sentence)) return sentence;
  return Math.max(word, sentence, line) > first ? Math.max(word, sentence, line) : n;
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  /** The last sign that is no blank, and the blanks since then. */
  let last = '';
  let gap: '' | ' ' | '\n' = '';
  const add = (start: number, end: number) => {
    const sign = text.slice(start, end);
    const isBlank = sign.trim() === '';
    pieces.push({ start, end, rank: isBlank ? 0 : rankAfter(last, gap), isBlank });
    if (isBlank) gap = gap === '\n' || sign.includes('\n') ? '\n' : ' ';
    else [last, gap] = [sign, ''];
  };
  let at = 0;
  const addSigns = (until: number) => {
    for (const { segment, index } of graphemes.segment(text.slice(at, until)))
      add(at + index, at + index + segment.length);
  };
  for (const { start, end } of findInText(text)) {
    addSigns(start);
    add(start, end);
    at = end;
  }
  addSigns(text.length);
  return pieces;
}

function rankAfter(last: string, gap: '' | ' ' | '\n'): Piece['rank'] {
  if (gap === '') return 0;
  if (gap === '\n') return 3;
  return /[.!?…。！？]$/u.test(last) ? 2 : 1;
}
