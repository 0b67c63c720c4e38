/**
 * The weight of a type in an `Accept` header, from 0 to 1: its own weight, else its family's, else that of anything
 * (RFC 9110 12.5.1).
 */
function weight(accept: string, type: string): number {
  const [family] = type.split('/');
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()));
  for (const wanted of [type, `${family}/*`, '*/*']) {
    const found = ranges.find(([range]) => range === wanted);
    if (!found) continue;
    const q = Number(found.find((part) => part.startsWith('q='))?.slice(2) ?? 1);
    return q >= 0 && q <= 1 ? q : 0;
  }
  return 0;
}

/** Says whether a browser navigates: it wants HTML more than JSON, which API clients want, or take like anything. */
export const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined && weight(accept, 'text/html') > weight(accept, 'application/json');

/** Says whether a client names this very type, not as one of any. */
export const accepts = (accept: string | undefined, type: string): boolean =>
  accept !== undefined && accept.toLowerCase().includes(type) && weight(accept, type) > 0;
