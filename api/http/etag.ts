import { readChangeCounter } from '../../src/platform/db/index.ts';
import type { Context } from '../../src/context.ts';
import { sha256Hex } from '../../src/platform/kernel/index.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

const bareTag = (tag: string) => tag.trim().replace(/^W\//, '');

/** Says whether the header `If-None-Match` names the tag; compared weakly (RFC 9110 13.1.2). */
export const namesTag = (header: string, etag: string): boolean =>
  header.split(',').some((tag) => bareTag(tag) === bareTag(etag) || tag.trim() === '*');

/**
 * Sets the `ETag` of a list by the change counter of the organization, read before the list, so that a tag is never
 * newer than what it stands for. True: the client has this list already.
 */
export async function isUnchangedList(
  exchange: Exchange,
  revision: string,
  { sql, config }: Pick<Context, 'sql' | 'config'>,
): Promise<boolean> {
  const { request, search, headers, principal } = exchange;
  const { path } = exchange.route as AnyRoute; // the ladder has set it
  const changes = await readChangeCounter(sql, principal!.orgId);
  const seen = [config.version, config.http.backendUrl, principal!.orgId, path, search, revision, changes];
  headers['etag'] = `W/"${sha256Hex(JSON.stringify(seen)).slice(0, 32)}"`;
  const known = request.headers['if-none-match'];
  return known !== undefined && namesTag(known, headers['etag']);
}
