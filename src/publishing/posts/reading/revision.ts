import type { PostsDeps } from '../deps.ts';
import { inFlight } from '../state.ts';

/** A post as it stands for whoever writes it: may its content be changed, and which version it has. */
export interface PostRevision {
  version: number;
  isDeleted: boolean;
  /** It is neither out nor on its way. */
  isOpen: boolean;
}

/** How posts stand, in their order; undefined for one that is not there. */
export async function findRevisions(
  { sql }: Pick<PostsDeps, 'sql'>,
  keys: readonly { orgId: string; postId: string }[],
): Promise<(PostRevision | undefined)[]> {
  if (keys.length === 0) return [];
  const rows = await sql<(PostRevision & { n: number })[]>`/* all orgs */
    select t.n::int, p.version, p.deleted_at is not null as "isDeleted",
      p.deleted_at is null and p.state <> 'PUBLISHED' and not ${inFlight(sql)} as "isOpen"
    from unnest(${keys.map(({ orgId }) => orgId)}::uuid[], ${keys.map(({ postId }) => postId)}::uuid[])
      with ordinality as t (org_id, id, n)
    join posts p on p.org_id = t.org_id and p.id = t.id`;
  const found = new Map(rows.map(({ n, ...revision }) => [n, revision]));
  return keys.map((_, n) => found.get(n + 1));
}

/** The agents that have edited a post since a version of it, by name. */
export async function findAgents(
  { sql }: Pick<PostsDeps, 'sql'>,
  { orgId, postId, since }: { orgId: string; postId: string; since: number },
): Promise<string[]> {
  const rows = await sql<{ agent: string }[]>`
    select data ->> 'agent' as agent
    from post_timeline
    where org_id = ${orgId}
      and post_id = ${postId}
      and data ? 'agent'
      and (data ->> 'version')::int > ${since}
    group by 1
    order by min(id)`;
  return rows.map(({ agent }) => agent);
}
