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

/** A call of the route by the TypeScript client. */
export function clientOf(
  route: AnyRoute,
  { json, parameters }: { json: unknown; parameters: readonly Json[] },
): string {
  if (route.input === 'stream') return "await rookery.upload(file, { name: 'bicycle.png' });";
  const examples = (place: string) =>
    Object.fromEntries(
      parameters
        .filter((one) => one['in'] === place && one['required'])
        .map(({ name, example }) => [name as string, example]),
    );
  const params = { path: examples('path'), query: examples('query') };
  const given = Object.entries(params).filter(([, values]) => Object.keys(values).length > 0);
  const init = {
    ...(given.length > 0 && { params: Object.fromEntries(given) }),
    ...(json !== undefined && { body: json }),
    ...(route.output === 'text' && { parseAs: 'text' }),
  };
  const path = route.path.replace(/:(\w+)/g, '{$1}');
  const more = Object.keys(init).length > 0 ? `, ${JSON.stringify(init, undefined, 2)}` : '';
  return `await dataOf(rookery.api.${route.method.toUpperCase()}('${path}'${more}));`;
}

const CHANNEL = '0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9';
/** What is typed for a route, where there is a command for it. */
const COMMANDS: Readonly<Record<string, string>> = {
  'get /me': 'whoami',
  'get /integrations': 'channels list',
  'get /integration-settings/:id': 'channels rules :id',
  'get /find-slot': 'channels slot',
  'get /find-slot/:id': 'channels slot :id',
  'get /posts': 'posts list',
  'post /posts': `posts create --channel ${CHANNEL} --text "Hello"`,
  'post /posts/preflight': `posts create --channel ${CHANNEL} --text "Hello" --dry-run`,
  'get /posts/:id': 'posts get :id',
  'patch /posts/:id': 'posts edit :id --text "Hello"',
  'delete /posts/:id': 'posts delete :id',
  'delete /posts/group/:group': 'posts delete :group --group',
  'put /posts/:id/status': 'posts cancel :id',
  'post /posts/:id/retry': 'posts retry :id',
  'get /posts/:id/timeline': 'posts timeline :id',
  'post /posts/bulk': 'bulk plan posts.csv',
  'post /posts/bulk/:planId/apply': 'bulk apply :planId',
  'post /posts/bulk/:planId/undo': 'bulk undo :planId',
  'post /upload': 'upload bicycle.png',
  'post /upload-from-url': 'upload https://pictures.example/bicycle.png',
  'get /media': 'media list',
  'delete /media/:id': 'media delete :id',
  'get /media/jobs/:id': 'media job :id',
  'get /analytics/:integrationId': 'analytics channel :integrationId',
  'get /analytics/post/:postId': 'analytics post :postId',
  'get /webhooks': 'webhooks list',
  'post /webhooks': 'webhooks create mine https://hooks.example/rookery',
  'delete /webhooks/:id': 'webhooks delete :id',
  'get /webhooks/:id/events': 'webhooks events :id',
};

/** A call of the route by the command line; undefined where it has no command for it. */
export function commandOf(route: AnyRoute, { parameters }: { parameters: readonly Json[] }): string | undefined {
  const words = COMMANDS[`${route.method} ${route.path.replace('/public/v1', '')}`];
  return (
    words &&
    `rookery ${words.replace(/ :(\w+)/g, (_, name: string) => ` ${String(parameters.find((one) => one['name'] === name)!['example'])}`)}`
  );
}
