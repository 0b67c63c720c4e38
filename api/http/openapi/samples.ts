import type { AnyRoute } from '../route.ts';
import type { Json } from './schemas.ts';

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A call of the route by curl, with the address of the service in `$URL` and a key in `$KEY`. */
export function curlOf(route: AnyRoute, { json, parameters }: { json: unknown; parameters: readonly Json[] }): string {
  const filled = route.path.replace(/:(\w+)/g, (_, name: string) => {
    const found = parameters.find((one) => one['in'] === 'path' && one['name'] === name);
    return encodeURIComponent((found?.['example'] as string | undefined) ?? name);
  });
  const needed = parameters.filter((one) => one['in'] === 'query' && one['required']);
  const query = needed.map(({ name }) => `${String(name)}=…`).join('&');
  return [
    'curl',
    ...(route.method === 'get' ? [] : [`-X ${route.method.toUpperCase()}`]),
    `"$URL${filled}${query && `?${query}`}"`,
    ...(route.auth.includes('none') ? [] : ['-H "Authorization: $KEY"']),
    ...(route.input === 'stream' ? ['-F file=@bicycle.png'] : []),
    ...(json === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(json))}`]),
  ].join(' \\\n  ');
}
