import type { PostQuota } from '../../../entitlements/index.ts';
import { type Database, groupCommit, LOCKED, type Sql } from '../../../platform/db/index.ts';
import { AppError, type Clock } from '../../../platform/kernel/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { postFact, withChannel } from '../journal.ts';
import { post } from '../row.ts';
import type { Create } from './input.ts';
import type { LinksPort, DueChange, ReminderMoves } from '../ports.ts';
import { underQuotas } from './quotas.ts';

interface Admission {
  orgId: string;
  create: Create;
  /** With billing: what the Organization let the create in by. */
  quota?: PostQuota | undefined;
}
/** What became of a create: stored, refused, or `stale`: the rows no longer say what its quota says, and nothing of it was stored. */
export interface Admitted {
  refused?: AppError | undefined;
  stale?: boolean;
  /** With a quota: the org's posts of the billing month after this commit. */
  used?: number | undefined;
}
interface Answer {
  refused: { n: number; why: 'channel' | 'claim' | 'stale' | 'locked' }[] | null;
  nearer: { orgId: string; channelId: string; dueAt: string }[] | null;
  used: { orgId: string; used: number }[] | null;
}

const REFUSED = {
  channel: () => new AppError('invalid_request', 'Integration not found'),
  claim: () => new AppError('idempotency_in_flight', 'Another request with this Idempotency-Key took over'),
};

/**
 * Stores whole creates of many organizations in one commit: posts, timeline, outbox, idempotency key with its reply, next
 * due times, and the reminders of channels that came nearer. Rows that are there already are not written twice, nor counted.
 */
export const admitOf = (
  database: Database,
  { clock, reminders, links, horizonMs }: { clock: Clock; reminders: ReminderMoves; links: Pick<LinksPort, 'plan'>; horizonMs: number },
) =>
  groupCommit(
    async (_: Sql, admissions: readonly Admission[]): Promise<(Admitted | typeof LOCKED)[]> => {
      const store = async (sql: Sql) => {
        const answer = await insert(sql, admissions, horizonMs);
        const linked = linkedOf(admissions);
        if (linked.length > 0) await links.plan(sql, linked); // of posts that were refused nothing is kept
        const nearer = (answer.nearer ?? []).map((one): DueChange => ({ ...one, dueAt: new Date(one.dueAt) }));
        return { answer, committed: nearer.length > 0 ? await reminders.within(sql, nearer) : undefined };
      };
      const horizon = clock.in(horizonMs);
      const { answer, committed } = await (admissions.every(({ create }) => isOneStatement(create, horizon)) ? store(database) : database.begin(store));
      committed?.();
      const refused = new Map((answer.refused ?? []).map(({ n, why }) => [n, why]));
      const used = new Map((answer.used ?? []).map((one) => [one.orgId, one.used]));
      return admissions.map(({ orgId }, n) => {
        const why = refused.get(n);
        if (why === 'locked') return LOCKED;
        return why === 'stale' ? { stale: true } : { refused: why && REFUSED[why](), used: used.get(orgId) };
      });
    },
    { weigh, heaviest: HEAVIEST, ownerOf: ({ orgId }) => orgId },
  );

/** What one statement may carry, in characters: a longer text costs memory several times over, and everybody in the commit waits for it. */
const HEAVIEST = 8_000_000;
const OF_A_ROW = 1_000;
const weigh = ({ create: { posts } }: Admission) =>
  posts.reduce((sum, { content, title, description }) => sum + OF_A_ROW + content.length + (title?.length ?? 0) + (description?.length ?? 0), 0);

/**
 * Drafts and posts beyond the horizon move no reminder: without links their statement is the whole commit, and the two exchanges around it
 * are saved. Where the database's clock finds the horizon further away, the reminder follows right after the commit.
 */
const isOneStatement = ({ posts }: Create, horizon: Date) =>
  posts.every(({ state, publishDate, shortLinks }) => (state === 'DRAFT' || (publishDate !== null && publishDate > horizon)) && !shortLinks);

const linkedOf = (admissions: readonly Admission[]) =>
  admissions.flatMap(({ orgId, create }) => create.posts.flatMap(({ id, content, shortLinks }) => (shortLinks ? [{ orgId, postId: id, content }] : [])));

async function insert(sql: Sql, admissions: readonly Admission[], horizonMs: number): Promise<Answer> {
  let ordinal = 0;
  const items = admissions.flatMap(({ orgId, create }, n) =>
    create.posts.map(({ tagIds, ...created }) => ({ ...created, tagIds, orgId, createdBy: create.createdBy, n, ordinal: ordinal++ })),
  );
  const claims = admissions.flatMap(({ orgId, create: { idempotency } }, n) => (idempotency ? [{ ...idempotency, orgId, n }] : []));
  const quotas = underQuotas(sql, admissions);
  const [answer] = await sql<Answer[]>`
    with ${quotas.judged} item as materialized (
      select * from json_to_recordset(${JSON.stringify(items)}::text::json) as t (
        n int, ordinal int, "orgId" uuid, id uuid, "channelId" uuid, "group" text, "parentId" uuid, "rootId" uuid, state text, content text, media jsonb, settings jsonb,
        title text, description text, "delayMinutes" int, "publishDate" timestamptz, "tagIds" uuid[], "creationMethod" text, "createdBy" uuid) ${quotas.fresh}
    ), claim as materialized (
      select * from json_to_recordset(${JSON.stringify(claims)}::text::json) as t (n int, "orgId" uuid, scope text, key text, claim uuid, status int, reply text) ${quotas.fresh}
    ), channel as materialized (
      select c.* from (select distinct "orgId", "channelId" from item order by "channelId") i
      cross join lateral (
        select c.id, c.org_id, c.next_due_at, c.refresh_needed, c.provider_id, c.name from channels c where c.id = i."channelId" and c.org_id = i."orgId" and c.deleted_at is null for no key update of c skip locked
      ) c
    ), elsewhere as (
      select i.n, c.id is not null as there from item i left join channels c on c.id = i."channelId" and c.org_id = i."orgId" and c.deleted_at is null
      where not exists (select from channel k where k.id = i."channelId" and k.org_id = i."orgId")
    ), homeless as (
      select n, bool_and(there) as locked from elsewhere group by n
    ), kept as (
      update idempotency_keys k set status = q.status, reply = q.reply
      from claim q where k.org_id = q."orgId" and k.scope = q.scope and k.key = q.key and k.claim = q.claim and q.n not in (select n from homeless)
      returning q.n
    ), refused as (
      select n, case when locked then 'locked' else 'channel' end as why from homeless
      union all
      select q.n, 'claim' from claim q where q.n not in (select n from kept) and q.n not in (select n from homeless) ${quotas.refused}
    ), inserted as (
      insert into posts (id, org_id, channel_id, group_id, parent_post_id, root_post_id, state, detail, content, content_clean, media, settings, title, description, delay_minutes,
        publish_date, due_at, tag_ids, creation_method, created_by)
      select i.id, c.org_id, c.id, i."group", i."parentId", i."rootId", i.state, case when i.state = 'QUEUE' then case when c.refresh_needed then 'paused' else 'scheduled' end end,
        i.content, true, i.media, i.settings, i.title, i.description, i."delayMinutes",
        coalesce(i."publishDate", now()), case when i.state = 'QUEUE' and i."rootId" is null then coalesce(i."publishDate", now()) end,
        i."tagIds", i."creationMethod", i."createdBy"
      from item i join channel c on c.id = i."channelId" and c.org_id = i."orgId"
      where i.n not in (select n from refused)
      order by i.ordinal
      on conflict (id) do nothing
      returning ${post.names(sql, 'fact')}
    ), told as (
      insert into post_timeline (org_id, post_id, kind, message, data)
      select org_id, id, 'created', case state when 'QUEUE' then 'Created and scheduled' else 'Created as a draft' end, jsonb_build_object('publishDate', publish_date) from inserted
    ), ${announce(sql, {
      'post.scheduled': {
        from: withChannel(sql, sql`(select * from inserted where state = 'QUEUE' and root_post_id is null)`, sql`channel`),
        payload: postFact(sql),
      },
    })}, waiting as (
      select org_id, channel_id, min(due_at) as due_at from inserted where detail = 'scheduled' and due_at is not null group by org_id, channel_id
    ), nearer as (
      select w.*, w.due_at < coalesce(c.next_due_at, 'infinity') and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' as remind from waiting w join channel c on c.id = w.channel_id
    ), moved as (
      update channels c set due_version = c.due_version + 1, next_due_at = least(c.next_due_at, w.due_at), reminder_due_at = case when w.remind then w.due_at else c.reminder_due_at end
      from nearer w where c.id = w.channel_id and c.org_id = w.org_id
    ) ${quotas.counted}
    select (select json_agg(json_build_object('n', n, 'why', why)) from refused) as refused,
      (select json_agg(json_build_object('orgId', org_id, 'channelId', channel_id, 'dueAt', due_at)) from nearer where remind) as nearer, ${quotas.used} as used`;
  return answer!;
}
