import type { PostQuota } from '../../../../entitlements/index.ts';
import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import type { Create } from '../input.ts';

interface Limited {
  orgId: string;
  create: Create;
  quota?: PostQuota | undefined;
}
/** Parts of the statement that admits. */
interface Parts {
  /** CTEs `quota` and `stale (n, locked)`, each with its comma. */
  judged: Fragment;
  /** Leaves out what is stale. */
  fresh: Fragment;
  refused: Fragment;
  counted: Fragment;
  used: Fragment;
}

/** A thread is one post. */
export const rootsOf = ({ posts }: Pick<Create, 'posts'>): number =>
  posts.reduce((n, { rootPostId }) => n + (rootPostId ? 0 : 1), 0);

/** What creates of limited orgs want of their limits, an org each, in the order in which counter rows are locked. */
export function quotasOf(admissions: readonly Limited[]): readonly object[] {
  const limited = new Map<string, PostQuota & { orgId: string; wanted: number; ns: number[] }>();
  admissions.forEach(({ orgId, create, quota }, n) => {
    if (!quota || rootsOf(create) === 0) return; // edits alone count nothing
    const one = limited.get(orgId);
    if (!one) limited.set(orgId, { ...quota, orgId, wanted: rootsOf(create), ns: [n] });
    else {
      one.wanted += rootsOf(create);
      one.ns.push(n);
    }
  });
  return [...limited.values()].toSorted((a, b) => (a.orgId < b.orgId ? -1 : 1));
}

/**
 * Holds creates against the limits of their orgs, in the statement that stores them: the counter rows are locked in the
 * order of orgs and before any channel, and creates whose quota the rows no longer bear out are left alone. `quotas`:
 * those of `quotasOf`, as JSON; where nobody is limited there is nothing of this.
 */
export function underQuotas(sql: Sql, quotas: Fragment | undefined): Parts {
  if (!quotas) return { judged: sql``, fresh: sql``, refused: sql``, counted: sql``, used: sql`null::json` };
  return {
    judged: sql`
    quota as materialized (
      select q.*, c.*
      from json_to_recordset(${quotas}::text::json) as q (
        "orgId" uuid, "entitlementVersion" text, anchor timestamptz, "monthStart" timestamptz, until timestamptz,
        max bigint, wanted int, ns int[]
      )
      left join lateral (
        select c.posts, c.month_anchor, c.month_start, c.entitlement_version
        from org_counters c
        where c.org_id = q."orgId"
        for no key update of c
        skip locked
      ) c on true
    ), stale as materialized (
      select unnest(q.ns) as n,
        q.entitlement_version is null and exists (select from org_counters c where c.org_id = q."orgId") as locked
      from quota q
      where not coalesce(
        q.month_anchor = q.anchor
          and q.month_start = q."monthStart"
          and now() < q.until
          and q.posts + q.wanted <= q.max
          and q."entitlementVersion" = q.entitlement_version::text,
        false
      )
    ),`,
    fresh: sql`where n not in (select n from stale)`,
    refused: sql`union all select n, case when locked then 'locked' else 'stale' end from stale`,
    counted: sql`, counted as (
      update org_counters c
      set posts = c.posts + i.roots
      from (
        select org_id, count(*)::int as roots
        from inserted
        where root_post_id is null
        group by org_id
      ) i
      join quota q on q."orgId" = i.org_id
      where c.org_id = i.org_id
      returning c.org_id, c.posts
    )`,
    used: sql`(
        select json_agg(json_build_object('orgId', q."orgId", 'used', coalesce(c.posts, q.posts)))
        from quota q
        left join counted c on c.org_id = q."orgId"
      )`,
  };
}
