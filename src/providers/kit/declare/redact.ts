const forms = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  btoa(unescape(encodeURIComponent(secret))).replace(/={1,2}$/, ''),
];

/** Replaces every given secret by `***`, in each form that it takes on the wire. */
export function redactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets.filter((secret): secret is string => secret !== undefined && secret.length >= 4);
  return (text) => {
    if (known.length === 0) return text;
    const all = [...new Set(known.flatMap(forms))].toSorted((a, b) => b.length - a.length);
    return all.reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
  };
}

/** Removes the queries and fragments of addresses, which may hold signatures. */
export const unsigned = (text: string): string =>
  text
    .split(/([\s"'<>])/)
    .map((part) => {
      const at = part.indexOf('://');
      const query = at === -1 ? -1 : part.slice(at).search(/[?#]/);
      return query === -1 ? part : part.slice(0, at + query);
    })
    .join('');
