/** Words of placeholders and examples, longest first: what is left of a secret without them was chosen by nobody. */
const WORDS = `
  development placeholder characters encryption passphrase production qwertyuiop qwertzuiop asdfghjkl generated
  undefined cafebabe changeit deadbeef generate password passwort postgres required default example install
  letmein minimum openssl private replace rookery service session signing webhook change enough insert length
  please postiz random sample secret secure should string thirty unique admin dummy enter every hello least
  local super tests there these token value world auth demo here just long make more must some test than that
  this todo type very with your and for jwt key not the two`
  .trim()
  .split(/\s+/)
  .toSorted((a, b) => b.length - a.length);
const LEAST_LEFT = 16;
const LEAST_DIFFERENT = 8;
const LONGEST_UNIT = 16;

/** Tells whether a text is one unit of at most 16 characters, again and again. */
const repeats = (text: string): boolean => {
  for (let unit = 1; unit <= LONGEST_UNIT && unit * 2 <= text.length; unit += 1)
    if (text.slice(unit) === text.slice(0, -unit)) return true;
  return false;
};

/** Tells whether most steps from one character to the next are the same small one, as in 123456 or zyxw. */
function counts(text: string): boolean {
  let [up, down, same] = [0, 0, 0];
  for (let n = 1; n < text.length; n += 1) {
    const step = text.charCodeAt(n) - text.charCodeAt(n - 1);
    if (step === 1) up += 1;
    else if (step === -1) down += 1;
    else if (step === 0) same += 1;
  }
  return Math.max(up, down, same) * 2 > text.length;
}

function withoutWords(text: string): string {
  let left = text.toLowerCase();
  for (const word of WORDS) left = left.replaceAll(word, '');
  return left.replaceAll(/[^a-z0-9+/]/g, '');
}

/**
 * Tells whether a secret can be guessed: few or repeated characters, a sequence, or the words of a placeholder with
 * little beside them.
 */
export const isGuessable = (secret: string): boolean =>
  new Set(secret).size < LEAST_DIFFERENT ||
  repeats(secret) ||
  counts(secret) ||
  withoutWords(secret).length < LEAST_LEFT;
