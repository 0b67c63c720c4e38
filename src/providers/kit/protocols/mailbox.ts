/** A text on one line: nothing in it can end a header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/** Whether this is one address and nothing else. Addresses of more people, names and comments are not. */
export const isAddress = (text: string): boolean => /^[^\s<>"(),:;@[\]\\\p{C}]+@[^\s<>"(),:;@[\]\\\p{C}]+$/u.test(text) && text.length <= 320;

/** `"Name" <address>` (RFC 5322 3.4), or the address alone. */
export function mailbox(name: string, address: string): string {
  const said = oneLine(name).replace(/["\\]/g, '\\$&');
  return said === '' ? address : `"${said}" <${address}>`;
}

const WORD_BYTES = 42; // 56 characters of base64: a word stays below the 75 of RFC 2047
/** The same for those who take nothing but ASCII: other letters become encoded words (RFC 2047). */
export function asciiMailbox(name: string, address: string): string {
  const said = oneLine(name);
  return /^[\x20-\x7e]*$/.test(said) ? mailbox(said, address) : `${encodedWords(said)} <${address}>`;
}

/** A text as encoded words, none of which cuts a letter. */
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
