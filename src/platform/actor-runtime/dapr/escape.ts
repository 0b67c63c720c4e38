import { sha256 } from '../../kernel/index.ts';

/** The spelling of the empty string, which has no place in a path. */
const EMPTY = '_';

/**
 * Any string as a name of `[A-Za-z0-9_:-]`, reversibly: `_` doubles, every other character becomes `_` and two
 * hexadecimal digits for each byte of UTF-8.
 */
export function escapeName(text: string): string {
  if (text === '') return EMPTY;
  if (!text.isWellFormed())
    throw new TypeError('An id or a name with half a surrogate pair is no text and cannot be addressed');
  // matched in runs, so that both halves of a surrogate pair are encoded together
  return text.replace(/[^A-Za-z0-9:-]+/g, (run) =>
    Array.from(run, (character) => (character === '_' ? '__' : bytes(character))).join(''),
  );
}
const bytes = (character: string) =>
  Array.from(Buffer.from(character, 'utf8'), (byte) => `_${byte.toString(16).padStart(2, '0')}`).join('');

/** The reverse of `escapeName`; undefined for what it never writes. */
export function unescapeName(wire: string): string | undefined {
  if (wire === EMPTY) return '';
  if (!/^(?:[A-Za-z0-9:-]|__|_[0-9a-f]{2})+$/.test(wire)) return undefined;
  const out: number[] = [];
  for (let at = 0; at < wire.length; at++) {
    if (wire[at] !== '_') out.push(wire.charCodeAt(at));
    else if (wire[at + 1] === '_') {
      out.push(0x5f);
      at += 1;
    } else {
      out.push(parseInt(wire.slice(at + 1, at + 3), 16));
      at += 2;
    }
  }
  const text = Buffer.from(out).toString('utf8');
  // one spelling for each name, so that no two addresses are one actor
  return escapeName(text) === wire ? text : undefined;
}

/** The scheduler takes 512 characters for namespace, type, id and reminder together. */
const LONGEST = 200;
/** No escape begins like this. */
const DIGEST = '_h';

/**
 * The name as Dapr gets it: escaped, and where that is too long, a digest. The text of a digest must travel beside it.
 */
export function wireName(text: string): string {
  const escaped = escapeName(text);
  return escaped.length <= LONGEST ? escaped : DIGEST + sha256(text).toString('base64url');
}

export const isDigest = (wire: string): boolean => wire.startsWith(DIGEST);

/**
 * The text behind a name of the wire; `told` is believed where its digest fits. Undefined for what is no name of ours.
 */
export function readName(wire: string, told: string | undefined): string | undefined {
  if (!isDigest(wire)) return unescapeName(wire);
  return told !== undefined && wireName(told) === wire ? told : undefined;
}
