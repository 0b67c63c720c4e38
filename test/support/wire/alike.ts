/** Times: a date with its hour, or seconds since 1970. */
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b1\d{9}(?:\.\d+)?\b/g;
/** Words of so many characters can be an id, a key or a second that follows from the post or from the time. */
const LONG = 10;

const isMatcher = (value: unknown): value is { asymmetricMatch(given: unknown): boolean } =>
  typeof value === 'object' && value !== null && 'asymmetricMatch' in value;
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Whether two texts are the same but for times, and for long words in the place of others of the same length. */
function isAlikeText(wanted: string, given: string): boolean {
  const [a, b] = [wanted, given].map((text) => text.replace(TIME, 'time').split(/([^\w-]+)/)) as [string[], string[]];
  return (
    a.length === b.length &&
    a.every((word, n) => word === b[n] || (n % 2 === 0 && word.length >= LONG && word.length === b[n]!.length))
  );
}

/**
 * Whether a value is what is wanted, which may hold matchers of `expect`; undefined fields are none. `loosely`: ids and
 * times may be others.
 */
export function fits(wanted: unknown, given: unknown, loosely: boolean): boolean {
  if (isMatcher(wanted)) return wanted.asymmetricMatch(given);
  if (!isObject(wanted) || !isObject(given))
    return wanted === given || (loosely && typeof wanted === typeof given && isAlikeText(`${wanted}`, `${given}`)); // oxlint-disable-line typescript/restrict-template-expressions -- leaves of JSON
  const namesOf = (value: object) =>
    Object.entries(value).flatMap(([name, inner]) => (inner === undefined ? [] : [name]));
  const names = namesOf(wanted);
  return (
    Array.isArray(wanted) === Array.isArray(given) &&
    names.length === namesOf(given).length &&
    names.every((name) => name in given && fits(wanted[name], given[name], loosely))
  );
}
