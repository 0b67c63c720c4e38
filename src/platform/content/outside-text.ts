/** Control characters but for tabs and line ends, and marks that turn the direction of what follows them. */
// oxlint-disable-next-line no-control-regex -- those are what it is about
const UNWANTED = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

/** A text of others as it is kept: bounded, well formed, without marks that would change what stands beside it. */
export const outsideText = (text: string, most: number): string =>
  [
    ...text
      .slice(0, 2 * most)
      .toWellFormed()
      .replace(UNWANTED, ''),
  ]
    .slice(0, most)
    .join('')
    .trim();

/** The same in one line: a name, or a sentence. */
export const outsideLine = (text: string, most: number): string =>
  outsideText(text.replace(UNWANTED, '').replace(/\s+/g, ' '), most);

/** A value of others as jsonb takes it: without NUL, and without halves of signs that take two (surrogates). */
export function storableJson<T>(value: T): T;
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => storableJson(one));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, storableJson(one)]));
}
