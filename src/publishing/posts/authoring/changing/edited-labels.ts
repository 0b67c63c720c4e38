import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import type { Labels } from '../../state.ts';
import type { PostChange } from '../input.ts';

/** Adds to what is given the tags that the thread has, as it was locked, with another campaign among them. */
export const tagsInCampaign = (sql: Sql, campaignTag: PostChange['campaignTag']): Fragment =>
  campaignTag === undefined
    ? sql``
    : sql` || coalesce((
        select jsonb_build_object('tagIds', array(
          select o.tag
          from unnest(r.tag_ids) with ordinality as o (tag, n)
          where o.tag is distinct from ${campaignTag}::uuid
            and not exists (select from campaigns k where k.org_id = r.org_id and k.tag_id = o.tag)
          order by o.n
        ) || array_remove(array[${campaignTag}::uuid], null))
        from thread r
        where r.root_post_id is null
      ), '{}')`;

/** The labels of the row `alias` after the change. */
export const labelsAfter = (sql: Sql, alias: string): Labels => ({
  group: sql`case when e.given ? 'group' then e."group" else ${sql(alias)}.group_id end`,
  tags: sql`case when e.given ? 'tagIds' then e."tagIds" else ${sql(alias)}.tag_ids end`,
});
