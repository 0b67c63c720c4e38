import type { Sql } from '../../../../platform/db/index.ts';
import { consentOfRemoval, holdThread, writeConsent } from '../../approval/consent.ts';
import { returns } from '../../bulk.ts';
import type { PostsDeps } from '../../deps.ts';
import { timeline } from '../../journal.ts';
import { post } from '../../row.ts';
import { inFlight } from '../../state.ts';
import type { PostAuthor } from '../input.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  outdated,
  OUTDATED,
  runChange,
  runSeeing,
  type Target,
  type ThreadVerdict,
} from '../thread.ts';
import { checkDone } from '../verdict.ts';
import { announceDeleted } from './deletion.ts';

/**
 * Deletes a post with what follows it in its thread. Final: nothing of it goes out any more. What is left of a thread
 * is another content than before. Answers the first item where that is out and something follows it now.
 */
export async function removePost(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  by?: PostAuthor,
): Promise<string | undefined> {
  const target = { orgId, postId };
  let followed: string | undefined;
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => remove(deps, sql, target, by));
      if (found?.verdict !== 'done') return found;
      if (found.consent === 'asked') await holdThread(sql, target);
      await writeConsent(sql, target, found.consent, by);
      const { rootId } = found;
      if (rootId && (await deps.followUps.shorten(sql, { orgId, postId: rootId }))) followed = rootId;
      return found;
    }),
  );
  return followed;
}

/**
 * Deletes every post of a group with its threads, or nothing while one of them is on its way; answers how many roots.
 * What went with its channel comes back with it no more, and the series of what has failed or is out ends.
 */
export async function removeGroup({ sql }: Pick<PostsDeps, 'sql'>, orgId: string, group: string): Promise<number> {
  return checkDone(await runSeeing(() => removeOfGroup(sql, orgId, group))).deleted;
}

const remove = ({ options }: Pick<PostsDeps, 'options'>, sql: Sql, target: Target, by: PostAuthor | undefined) => sql<
  FoundThread[]
>`
    with ${lockedThread(sql, target)}, deleted as (
      select b.*
      from thread b, thread t
      where t.is_target
        and (b.id = t.id or t.root_post_id is null or b.seq > t.seq)
    ), verdict as (
      select case
        ${outdated(sql)}
        when not exists (select from deleted) then 'not_found'
        when exists (select from deleted where in_flight) then 'in_flight'
        else 'done'
      end as verdict, ${consentOfRemoval(sql, target.orgId, by)} as consent
      from (select 1) one
      left join thread r on r.root_post_id is null
    ), changed as (
      update posts p
      set deleted_at = now(), updated_at = now()
      from deleted d, verdict v
      where v.verdict = 'done'
        and p.id = d.id
        and p.org_id = ${target.orgId}
      returning ${post.names(sql, 'fact', 'p')}
    ), ${channelsUpdated(sql, target.orgId, options.horizonMs)},
    ${timeline(sql, { from: sql`changed`, kind: 'cancelled', message: 'Deleted' })}, ${announceDeleted(sql)}
    ${answer(sql, target, sql`, v.consent, g.root_post_id as "rootId"`)}`;

const removeOfGroup = (sql: Sql, orgId: string, group: string) => sql<
  { verdict: ThreadVerdict | typeof OUTDATED; deleted: number }[]
>`
    with seen as materialized (
      select p.id, p.channel_id, p.version
      from posts p
      join channels c on c.id = p.channel_id and c.org_id = p.org_id
      where p.org_id = ${orgId}
        and p.group_id = ${group}
        and (p.deleted_at is null or ${returns(sql)})
    ), channel as materialized (
      select c.id, c.deleted_at
      from channels c
      where c.org_id = ${orgId}
        and c.id in (select channel_id from seen)
      order by c.id
      for no key update
    ), deleted as materialized (
      select p.id, p.version, ${inFlight(sql)} as in_flight, p.deleted_at is not null as is_gone
      from posts p
      join channel c on c.id = p.channel_id
      where p.org_id = ${orgId}
        and p.group_id = ${group}
        and (p.deleted_at is null or ${returns(sql)})
      order by p.id
      for no key update of p
    ), verdict as (
      select case
        when exists (select from deleted d join seen s on s.id = d.id where s.version <> d.version) then ${OUTDATED}
        when not exists (select from deleted where not is_gone) then 'not_found'
        when exists (select from deleted where in_flight) then 'in_flight'
        else 'done'
      end as verdict
    ), ended as (
      update posts p
      set deleted_at = now(), updated_at = now(), recurrence = null
      from deleted d, verdict v
      where v.verdict = 'done'
        and p.id = d.id
        and p.org_id = ${orgId}
      returning ${post.names(sql, 'fact', 'p')}, d.is_gone
    ), changed as (
      select *
      from ended
      where not is_gone
    ), ${timeline(sql, { from: sql`ended`, kind: 'cancelled', message: 'Deleted with its group' })},
    ${announceDeleted(sql)}
    select v.verdict, (select count(*)::int from changed where root_post_id is null) as deleted
    from verdict v`;
