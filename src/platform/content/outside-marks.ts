import { randomBase62 } from '../kernel/index.ts';

type Steps = readonly string[];

/**
 * Puts the texts of others at these places of a value between marks, which are drawn for this value, so that nobody can
 * write them beforehand; `places` are the JSON pointers (RFC 6901) of the texts. In a place `*` is any element or key,
 * `**` all below. What holds no such place is not copied.
 */
export function markOutside(
  whole: unknown,
  patterns: readonly string[],
): { value: unknown; places: string[]; mark: string } {
  const mark = `untrusted-${randomBase62(12)}`;
  const places: string[] = [];
  const walk = (value: unknown, wanted: readonly Steps[], at: string): unknown => {
    if (typeof value === 'string') {
      if (value === '' || !wanted.some(([step]) => step === undefined || step === '**')) return value;
      places.push(at);
      return `<${mark}>${value}</${mark}>`;
    }
    if (typeof value !== 'object' || value === null) return value;
    const walked = Object.entries(value).map(([key, one]): [string, unknown] => {
      const inner = below(wanted, key);
      return [key, inner.length > 0 ? walk(one, inner, pointerOf(at, key)) : one];
    });
    return Array.isArray(value) ? walked.map(([, one]) => one) : Object.fromEntries(walked);
  };
  const steps = patterns.map((pattern) => pattern.split('/').slice(1));
  return { value: walk(whole, steps, ''), places, mark };
}

const pointerOf = (at: string, key: string): string => `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
/** What is wanted below a key. */
const below = (wanted: readonly Steps[], key: string): Steps[] =>
  wanted
    .filter(([step]) => step === '**' || step === '*' || step === key)
    .map((steps) => (steps[0] === '**' ? steps : steps.slice(1)));
