import { SCOPES } from '../people/access/index.ts';
import { OAuthError } from './errors.ts';

/** The resources that a token may be bound to (RFC 8707). A token for `mcp` is good for `/mcp/:id` too. */
export const SURFACES = ['mcp', 'media-mcp'] as const;
export type Surface = (typeof SURFACES)[number];

/** The addresses of a surface: below the public address, with `/api` in front and without (S1). */
function surfaceUrls(backendUrl: string, surface: Surface): { plain: string; inApi: string } {
  const root = backendUrl.replace(/\/api$/, '');
  return { plain: `${backendUrl}/${surface}`, inApi: `${root}/api/${surface}` };
}

/** The surface that a `resource` parameter names. */
export function surfaceOf(backendUrl: string, resource: string | undefined): Surface | undefined {
  if (resource === undefined) return undefined;
  const asked = URL.canParse(resource) ? new URL(resource).href.replace(/\/$/, '') : '';
  const found = SURFACES.find((surface) => {
    const { plain, inApi } = surfaceUrls(backendUrl, surface);
    return [plain, inApi, `${backendUrl.replace(/\/api$/, '')}/${surface}`].some((url) => new URL(url).href === asked);
  });
  if (!found) throw new OAuthError('invalid_target', 'resource: no such resource here');
  return found;
}

/**
 * RFC 9728: what a client of a surface has to know of it (S96). `inApi`: for the address with `/api` in front, below
 * which a proxy may publish this service.
 */
export function protectedResource(backendUrl: string, surface: Surface, inApi: boolean) {
  const urls = surfaceUrls(backendUrl, surface);
  return {
    resource: inApi ? urls.inApi : urls.plain,
    authorization_servers: [backendUrl],
    scopes_supported: [...SCOPES],
    bearer_methods_supported: ['header'],
  };
}
