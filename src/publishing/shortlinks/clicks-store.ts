import type { Sql } from '../../platform/db/index.ts';
import { threadItems } from './store.ts';

/** A short link with what its provider last told. */
export interface CountedLink {
  id: string;
  orgId: string;
  url: string;
  shortUrl: string;
  linkId: string;
  providerId: string;
  providerVersion: string;
  clicks: number | null;
  isOld: boolean;
}
/** The short links of a thread, in the order of its items. `freshSeconds`: how long a count is good for. */
export const countedLinks = (sql: Sql, orgId: string, postId: string, freshSeconds: number) => sql<CountedLink[]>`
  select l.id, l.org_id as "orgId", l.url, l.short_url as "shortUrl", l.link_id as "linkId",
    l.provider_id as "providerId", l.provider_version as "providerVersion",
    l.clicks::float8 as clicks, coalesce(l.clicks_at < now() - ${freshSeconds} * interval '1 second', true) as "isOld"
  from short_links l
  join (${threadItems(sql, orgId, postId)}) t on t.id = l.post_id
  where l.org_id = ${orgId}
    and l.state = 'made'
  order by t.seq, l.id`;

export const noteClicks = (sql: Sql, { id, orgId }: CountedLink, clicks: number) => sql`
  update short_links
  set clicks = ${clicks}, clicks_at = now()
  where id = ${id}
    and org_id = ${orgId}`;
