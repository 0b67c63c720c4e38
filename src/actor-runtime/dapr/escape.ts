/** The spelling of the empty string, which has no place in a path. */
const EMPTY = '_';

/** Any string as a name of `[A-Za-z0-9_:-]`, reversibly: `_` doubles, every other character becomes `_` and two hexadecimal digits for each byte of UTF-8. */
export function escapeName(text: string): string {
  if (text === '') return EMPTY;
  if (!text.isWellFormed()) throw new TypeError('An id or a name with half a surrogate pair is no text and cannot be addressed');
  // matched in runs, so that both halves of a surrogate pair are encoded together
  return text.replace(/[^A-Za-z0-9:-]+/g, (run) => [...run].map((character) => (character === '_' ? '__' : bytes(character))).join(''));
}
const bytes = (character: string) => Array.from(Buffer.from(character, 'utf8'), (byte) => `_${byte.toString(16).padStart(2, '0')}`).join('');

/** The reverse of `escapeName`; undefined for what it never writes. */
export function unescapeName(wire: string): string | undefined {
  if (wire === EMPTY) return '';
  if (!/^(?:[A-Za-z0-9:-]|__|_[0-9a-f]{2})+$/.test(wire)) return undefined;
  const out: number[] = [];
  for (let at = 0; at < wire.length; at++) {
    if (wire[at] !== '_') out.push(wire.charCodeAt(at));
    else if (wire[at + 1] === '_') { out.push(0x5f); at += 1; }
    else { out.push(parseInt(wire.slice(at + 1, at + 3), 16)); at += 2; }
  }
  const text = Buffer.from(out).toString('utf8');
  return escapeName(text) === wire ? text : undefined; // one spelling for each name, so that no two addresses are one actor
}
