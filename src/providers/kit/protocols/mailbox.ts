/** Puts a text on one line, so that it cannot end a mail header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/** Answers whether this is exactly one address, without names or comments. */
export const isAddress = (text: string): boolean =>
  /^[^\s<>"(),:;@[\]\\\p{C}]+@[^\s<>"(),:;@[\]\\\p{C}]+$/u.test(text) && text.length <= 320;

/** Writes `"Name" <address>` (RFC 5322 3.4), or the address alone. */
export function mailbox(name: string, address: string): string {
  const said = oneLine(name).replace(/["\\]/g, '\\$&');
  return said === '' ? address : `"${said}" <${address}>`;
}

const WORD_BYTES = 42; // 56 characters of base64: a word stays below the 75 of RFC 2047
/** Writes the same in ASCII only: other letters become encoded words (RFC 2047). */
export function asciiMailbox(name: string, address: string): string {
  const said = oneLine(name);
  return /^[\x20-\x7e]*$/.test(said) ? mailbox(said, address) : `${encodedWords(said)} <${address}>`;
}

/** Splits a text into encoded words, each of whole characters. */
export function encodedWords(text: string): string {
  const words: string[] = [];
  let word = '';
  for (const letter of text) {
    if (Buffer.byteLength(word + letter) > WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += letter;
  }
  return [...words, word].map((one) => `=?UTF-8?B?${Buffer.from(one).toString('base64')}?=`).join(' ');
}
