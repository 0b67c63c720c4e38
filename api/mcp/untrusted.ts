const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The JSON pointers (RFC 6901) of the texts at these places; in a place `*` is any element or key, `**` all below. */
export function placesOf(answer: unknown, patterns: readonly string[]): string[] {
  return [...new Set(patterns.flatMap((pattern) => find(answer, pattern.split('/').slice(1), '')))];
}

function find(value: unknown, [step, ...rest]: readonly string[], at: string): string[] {
  if (typeof value === 'string') return (step === undefined || step === '**') && value !== '' ? [at] : [];
  if (typeof value !== 'object' || value === null || step === undefined) return [];
  const next = step === '**' ? ['**'] : rest;
  return Object.entries(value).flatMap(([key, one]) =>
    step === '*' || step === '**' || step === key ? find(one, next, `${at}/${escaped(key)}`) : [],
  );
}

/** A copy in which the texts at these pointers stand between marks. */
export function quoted(answer: unknown, places: readonly string[], mark: string): unknown {
  if (places.length === 0) return answer;
  const wanted = new Set(places);
  const copy = (value: unknown, at: string): unknown => {
    if (typeof value === 'string') return wanted.has(at) ? `<${mark}>${value}</${mark}>` : value;
    if (Array.isArray(value)) return value.map((one, n) => copy(one, `${at}/${n}`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, copy(one, `${at}/${escaped(key)}`)]));
  };
  return copy(answer, '');
}
