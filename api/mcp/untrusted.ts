type Steps = readonly string[];
interface Marked {
  value: unknown;
  /** The JSON pointers (RFC 6901) of the texts that were marked. */
  places: string[];
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * The answer with the texts at these places between marks. In a place `*` is any element or key, `**` all below. What
 * holds no such text is not copied.
 */
export function marked(answer: unknown, patterns: readonly string[], mark: string): Marked {
  const places: string[] = [];
  const walk = (value: unknown, wanted: readonly Steps[], at: string): unknown => {
    if (typeof value === 'string') {
      if (value === '' || !wanted.some(([step]) => step === undefined || step === '**')) return value;
      places.push(at);
      return `<${mark}>${value}</${mark}>`;
    }
    if (typeof value !== 'object' || value === null) return value;
    let copy: Record<string, unknown> | undefined;
    for (const key of keysOf(value, wanted)) {
      const one = (value as Record<string, unknown>)[key];
      const walked = walk(one, below(wanted, key), `${at}/${escaped(key)}`);
      if (walked === one) continue;
      copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
      copy[key] = walked;
    }
    return copy ?? value;
  };
  const steps = patterns.map((pattern) => pattern.split('/').slice(1));
  return { value: walk(answer, steps, ''), places };
}

const isAny = ([step]: Steps) => step === '*' || step === '**';
const keysOf = (value: object, wanted: readonly Steps[]): Iterable<string> =>
  wanted.some(isAny)
    ? Object.keys(value)
    : new Set(wanted.flatMap(([step]) => (step !== undefined && Object.hasOwn(value, step) ? [step] : [])));
/** What is wanted below a key. */
const below = (wanted: readonly Steps[], key: string): Steps[] =>
  wanted.flatMap((steps) => {
    const [step, ...rest] = steps;
    if (step === '**') return [steps];
    return step === '*' || step === key ? [rest] : [];
  });
