import { type Database, groupCommit, type Sql } from '../../db/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { Create } from '../input.ts';
import type { Nudge, Nudges } from '../ports.ts';

interface Admission {
  orgId: string;
  create: Create;
}
interface Answer {
  refused: { n: number; why: 'channel' | 'claim' }[] | null;
  nearer: { orgId: string; channelId: string; dueAt: string }[] | null;
}

const REFUSED = {
  channel: () => new AppError('invalid_request', 'Integration not found'),
  claim: () => new AppError('idempotency_in_flight', 'Another request with this Idempotency-Key took over'),
};

/**
 * Stores whole creates of many organizations in one commit: posts, timeline, outbox, idempotency key with its reply, next
 * due times, and the reminders of channels that came nearer. Rows that are there already are not written twice.
 */
export const admitOf = (database: Database, { nudges, horizonMs }: { nudges: Nudges; horizonMs: number }) =>
  groupCommit(async (_: Sql, admissions: readonly Admission[]): Promise<(undefined | AppError)[]> => {
    const { answer, committed } = await database.begin(async (sql) => {
      const found = await insert(sql, admissions, horizonMs);
      const nearer = (found.nearer ?? []).map((one): Nudge => ({ ...one, dueAt: new Date(one.dueAt) }));
      return { answer: found, committed: nearer.length > 0 ? await nudges.within(sql, nearer) : undefined };
    });
    committed?.();
    const refused = new Map((answer.refused ?? []).map(({ n, why }) => [n, why]));
    return admissions.map((_row, n) => {
      const why = refused.get(n);
      return why && REFUSED[why]();
    });
  });

async function insert(sql: Sql, admissions: readonly Admission[], horizonMs: number): Promise<Answer> {
  let ordinal = 0;
  const items = admissions.flatMap(({ orgId, create }, n) =>
    create.posts.map(({ tagIds, ...post }) => ({ ...post, tagIds, orgId, createdBy: create.createdBy, n, ordinal: ordinal++ })),
  );
  const claims = admissions.flatMap(({ orgId, create: { idempotency } }, n) => (idempotency ? [{ ...idempotency, orgId, n }] : []));
  const [answer] = await sql<Answer[]>`
    with item as materialized (
      select * from json_to_recordset(${JSON.stringify(items)}::text::json) as t (
        n int, ordinal int, "orgId" uuid, id uuid, "channelId" uuid, "group" text, "parentId" uuid, "rootId" uuid, state text, content text, media jsonb, settings jsonb,
        title text, description text, "delayMinutes" int, "publishDate" timestamptz, "intervalInDays" int, "tagIds" uuid[], "creationMethod" text, "createdBy" uuid)
    ), claim as materialized (
      select * from json_to_recordset(${JSON.stringify(claims)}::text::json) as t (n int, "orgId" uuid, scope text, key text, claim uuid, status int, reply text)
    ), channel as materialized (
      select c.* from (select distinct "orgId", "channelId" from item order by "channelId") i
      cross join lateral (
        select c.id, c.org_id, c.next_due_at, c.refresh_needed from channels c where c.id = i."channelId" and c.org_id = i."orgId" and c.deleted_at is null for no key update of c
      ) c
    ), homeless as (
      select distinct i.n from item i where not exists (select from channel c where c.id = i."channelId" and c.org_id = i."orgId")
    ), kept as (
      update idempotency_keys k set status = q.status, reply = q.reply
      from claim q where k.org_id = q."orgId" and k.scope = q.scope and k.key = q.key and k.claim = q.claim and q.n not in (select n from homeless)
      returning q.n
    ), refused as (
      select n, 'channel' as why from homeless
      union all
      select q.n, 'claim' from claim q where q.n not in (select n from kept) and q.n not in (select n from homeless)
    ), inserted as (
      insert into posts (id, org_id, channel_id, group_id, parent_post_id, root_post_id, state, detail, content, media, settings, title, description, delay_minutes,
        publish_date, due_at, interval_in_days, tag_ids, creation_method, created_by)
      select i.id, c.org_id, c.id, i."group", i."parentId", i."rootId", i.state, case when i.state = 'QUEUE' then case when c.refresh_needed then 'paused' else 'scheduled' end end,
        i.content, i.media, i.settings, i.title, i.description, i."delayMinutes",
        coalesce(i."publishDate", now()), case when i.state = 'QUEUE' and i."rootId" is null then coalesce(i."publishDate", now()) end,
        i."intervalInDays", i."tagIds", i."creationMethod", i."createdBy"
      from item i join channel c on c.id = i."channelId" and c.org_id = i."orgId"
      where i.n not in (select n from refused)
      order by i.ordinal
      on conflict (id) do nothing
      returning id, org_id, channel_id, root_post_id, state, detail, due_at, publish_date
    ), told as (
      insert into post_timeline (org_id, post_id, kind, message, data)
      select org_id, id, 'created', case state when 'QUEUE' then 'Created and scheduled' else 'Created as a draft' end, jsonb_build_object('publishDate', publish_date) from inserted
    ), announced as (
      insert into outbox (org_id, topic, entity_id, payload)
      select org_id, 'post.scheduled', id, jsonb_build_object('channelId', channel_id) from inserted where state = 'QUEUE' and root_post_id is null
    ), waiting as (
      select org_id, channel_id, min(due_at) as due_at from inserted where detail = 'scheduled' and due_at is not null group by org_id, channel_id
    ), nearer as (
      select w.*, w.due_at < coalesce(c.next_due_at, 'infinity') and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' as remind from waiting w join channel c on c.id = w.channel_id
    ), moved as (
      update channels c set moves = c.moves + 1, next_due_at = least(c.next_due_at, w.due_at), registered_for = case when w.remind then w.due_at else c.registered_for end
      from nearer w where c.id = w.channel_id and c.org_id = w.org_id
    )
    select (select json_agg(json_build_object('n', n, 'why', why)) from refused) as refused,
      (select json_agg(json_build_object('orgId', org_id, 'channelId', channel_id, 'dueAt', due_at)) from nearer where remind) as nearer`;
  return answer!;
}
