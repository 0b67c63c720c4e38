import { type Fragment, groupCommit, LOCKED, prepared, type Sql } from '../../../platform/db/index.ts';
import { AppError, newId } from '../../../platform/kernel/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { approvalSetting, isHeld } from '../approval/consent.ts';
import type { PostsOptions } from '../deps.ts';
import { decidedFact, pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../journal.ts';
import type { DueChange, ReminderMoves } from '../ports.ts';
import { post } from '../row.ts';
import { braked, type Labels, queuedDetail } from '../state.ts';
import { editWithin } from './changing/edit-statement.ts';
import { firstCommentOf } from './follow-ups.ts';
import type { PostAdmission, Admitted, Create } from './input.ts';
import { withinDays } from './program-days.ts';
import { quotasOf, underQuotas } from './quotas.ts';
import { dueChangeOf } from './thread.ts';
import { checkDone, REFUSALS } from './verdict.ts';

interface Answer {
  refused: { n: number; why: 'channel' | 'claim' | 'stale' | 'locked' }[] | null;
  earlier: { orgId: string; channelId: string; dueAt: string }[] | null;
  used: { orgId: string; used: number }[] | null;
  /** Where somebody counts them: the roots of threads that are new. */
  roots: string[] | null;
}

const REFUSED = {
  channel: () => new AppError('invalid_request', 'Integration not found'),
  claim: () => new AppError('idempotency_in_flight', 'Another request with this Idempotency-Key took over'),
};

type Needs = Pick<PostsOptions, 'sql' | 'clock' | 'reminders' | 'links' | 'options'>;

/**
 * Stores whole creates of many organizations in one commit: posts, timeline, outbox, idempotency key with its reply,
 * next due times, and the reminders of channels that came nearer. Rows that are there already are not written twice,
 * nor counted. One that edits posts as well has a commit of its own, in which all of it holds or nothing.
 */
export function admitOf(needs: Needs): (admission: PostAdmission) => Promise<Admitted> {
  const { sql: database, clock, reminders } = needs;
  const statements = insertions(reminders);
  const commitOf = () =>
    groupCommit(
      async (_: Sql, admissions: readonly PostAdmission[]): Promise<(Admitted | typeof LOCKED)[]> => {
        const version = newId();
        const store = (sql: Sql) =>
          withinDays(sql, admissions, (fitting) => insertAll(needs, sql, fitting, { statements, version }));
        const isSingle = admissions.every(({ create }) => isOneStatement(create));
        const { admitted, earlier } = await (isSingle ? store(database) : database.begin(store));
        reminders.moved(earlier, version);
        return admitted;
      },
      { weigh, heaviest: HEAVIEST, ownerOf: ({ orgId }) => orgId, clock },
    );
  const together = commitOf();
  const byPrograms = commitOf(); // they wait for the days of their programs, and nobody waits for that

  return async (admission) => {
    const { edits, programId } = admission.create;
    if (!edits?.length) return (programId === undefined ? together : byPrograms)(database, admission);
    for (let tries = 0; ; tries++) {
      const admitted = await admitAsOne(needs, admission);
      if (admitted !== LOCKED) return admitted;
      await clock.sleep(Math.min(LOCKED_MS * 2 ** tries, LONGEST_MS));
    }
  };
}

/** How long a create with edits waits before it looks again whether somebody else still has a row of it locked. */
const LOCKED_MS = 5;
const LONGEST_MS = 250;

/** Takes a transaction back, with what is answered for it. */
class TakenBack extends Error {
  readonly admitted: Admitted | typeof LOCKED;
  constructor(admitted: Admitted | typeof LOCKED) {
    super('A part of the body was refused');
    this.admitted = admitted;
  }
}

/**
 * Stores the posts and makes the edits of one body in one transaction. It waits for no lock while it holds others:
 * neither order could be kept for both.
 */
async function admitAsOne(needs: Needs, admission: PostAdmission): Promise<Admitted | typeof LOCKED> {
  const { orgId, create } = admission;
  try {
    const { admitted, committed } = await needs.sql.begin(async (sql) => {
      const inserted = await withinDays(sql, [admission], async (fitting) => {
        if (!(await lockChannels(sql, orgId, create))) throw new TakenBack(LOCKED);
        return insertAll(needs, sql, fitting);
      });
      const [stored] = inserted.admitted;
      if (stored === undefined || stored === LOCKED || stored.refused || stored.stale)
        throw new TakenBack(stored ?? LOCKED);
      const moves = [...inserted.earlier];
      for (const { postId, change } of create.edits ?? []) {
        // a body is judged before it comes here, but for its drafts: of one that is queued by now nothing is stored
        const seen = await editWithin(needs, sql, { orgId, postId }, change, !change.unjudged);
        if (seen?.verdict === 'unjudged') throw REFUSALS.stale();
        const found = checkDone(seen, admission.quota);
        if (found.earlier) moves.push(dueChangeOf(found, found.earlier));
      }
      const earliest = new Map(
        moves.toSorted((a, b) => b.dueAt.getTime() - a.dueAt.getTime()).map((move) => [move.channelId, move]),
      ); // the last one of a key stays
      return {
        admitted: stored,
        committed: earliest.size > 0 ? await needs.reminders.within(sql, [...earliest.values()]) : undefined,
      };
    });
    committed?.();
    return admitted;
  } catch (error) {
    if (error instanceof TakenBack) return error.admitted;
    throw error;
  }
}

/**
 * Locks the channels of the posts that a body creates and edits, in the order of their ids. False: somebody else has
 * one of them.
 */
async function lockChannels(sql: Sql, orgId: string, { posts, edits = [] }: Create): Promise<boolean> {
  const [row] = await sql<{ all: boolean }[]>`
    with wanted as (
      select c.id
      from channels c
      where c.org_id = ${orgId}
        and (
          c.id = any(${posts.map(({ channelId }) => channelId)}::uuid[])
          or c.id in (
            select p.channel_id
            from posts p
            where p.org_id = ${orgId}
              and p.id = any(${edits.map(({ postId }) => postId)}::uuid[])
          )
        )
    ), locked as (
      select c.id
      from channels c
      where c.org_id = ${orgId}
        and c.id in (select id from wanted)
      order by c.id
      for no key update
      skip locked
    )
    select (select count(*) from wanted) = (select count(*) from locked) as all`;
  return row!.all;
}

/**
 * What one statement may carry, in characters: a longer text costs memory several times over, and everybody in the
 * commit waits for it.
 */
const HEAVIEST = 8_000_000;
const OF_A_ROW = 1_000;
const weigh = ({ create: { posts } }: PostAdmission) =>
  posts.reduce(
    (sum, { content, title, description }) =>
      sum + OF_A_ROW + content.length + (title?.length ?? 0) + (description?.length ?? 0),
    0,
  );

/** Without links and the days of a program the statement is the whole commit, and two exchanges around it are saved. */
const isOneStatement = ({ posts, programId }: Create) =>
  programId === undefined && posts.every(({ shortLinks }) => !shortLinks);

const linkedOf = (admissions: readonly PostAdmission[]) =>
  admissions.flatMap(({ orgId, create }) =>
    create.posts.flatMap(({ id, content, settings, rootPostId, shortLinks }) => {
      const comment = rootPostId ? undefined : firstCommentOf(settings);
      const texts = comment === undefined ? [content] : [content, comment];
      return shortLinks ? texts.map((text) => ({ orgId, postId: id, content: text })) : [];
    }),
  );

/**
 * Runs the statement, and says what became of each create and which reminders have to move, or, with `moving`, are
 * moved.
 */
export async function insertAll(
  { links, options }: Pick<Needs, 'links' | 'options'>,
  sql: Sql,
  admissions: readonly PostAdmission[],
  moving?: { statements: Insertions; version: string },
) {
  const answer = await insert(sql, admissions, options.horizonMs, moving);
  const linked = linkedOf(admissions);
  if (linked.length > 0) await links.plan(sql, linked); // of posts that were refused nothing is kept
  const refused = new Map((answer.refused ?? []).map(({ n, why }) => [n, why]));
  const used = new Map((answer.used ?? []).map((one) => [one.orgId, one.used]));
  const admitted = admissions.map(({ orgId }, n): Admitted | typeof LOCKED => {
    const why = refused.get(n);
    if (why === 'locked') return LOCKED;
    return why === 'stale' ? { stale: true } : { refused: why && REFUSED[why](), used: used.get(orgId) };
  });
  return {
    admitted,
    earlier: (answer.earlier ?? []).map((one): DueChange => ({ ...one, dueAt: new Date(one.dueAt) })),
    roots: answer.roots ?? [],
  };
}

async function insert(
  sql: Sql,
  admissions: readonly PostAdmission[],
  horizonMs: number,
  { statements, version }: { statements: Insertions; version: string | null } = { statements: UNMOVED, version: null },
): Promise<Answer> {
  let ordinal = 0;
  const items = admissions.flatMap(({ orgId, create, waitsForRoom = false }, n) =>
    create.posts.map((one) => ({
      ...post.pick('create', one),
      state: one.state,
      publishDate: one.publishDate,
      orgId,
      createdBy: create.createdBy,
      schedulesFreely: create.schedulesFreely ?? false,
      approvalBy: create.approval?.by ?? null,
      approvalAt: create.approval?.at ?? null,
      approvalHash: create.approval?.hash ?? null,
      waitsForRoom,
      n,
      ordinal: ordinal++,
    })),
  );
  const claims = admissions.flatMap(({ orgId, create: { idempotency } }, n) =>
    idempotency ? [{ ...idempotency, orgId, n }] : [],
  );
  const quotas = quotasOf(admissions);
  const isCounted = admissions.some(({ create }) => create.programId !== undefined);
  const statement = statements[Number(quotas.length > 0)]![Number(isCounted)]!;
  const [answer] = await statement(sql, {
    items: JSON.stringify(items),
    claims: JSON.stringify(claims),
    quotas: JSON.stringify(quotas),
    horizonMs,
    version,
  });
  return answer!;
}

interface InsertValues {
  items: string;
  claims: string;
  quotas: string;
  horizonMs: number;
  version: string | null;
}
/**
 * The statement that stores creates; `isLimited`: some are under a quota, `isCounted`: their roots are asked for.
 * `reminders`: moves them itself.
 */
const insertionOf = (isLimited: boolean, isCounted: boolean, reminders?: ReminderMoves) =>
  prepared<InsertValues, Answer>((sql, value) => {
    const quotas = underQuotas(sql, isLimited ? value('quotas') : undefined);
    return sql`
      with ${quotas.judged} item as materialized (
        select *
        from json_to_recordset(${value('items')}::text::json) as t (
          n int, ordinal int, "orgId" uuid, state text, "createdBy" uuid, "schedulesFreely" boolean,
          "approvalBy" uuid, "approvalAt" timestamptz, "approvalHash" text, "waitsForRoom" boolean,
          "publishDate" timestamptz, ${post.record(sql, 'create')}
        ) ${quotas.fresh}
      ), claim as materialized (
        select *
        from json_to_recordset(${value('claims')}::text::json) as t (
          n int, "orgId" uuid, scope text, key text, claim uuid, status int, reply text
        ) ${quotas.fresh}
      ), ${lockedChannels(sql)}, kept as (${keepReplies(sql)}
      ), refused as (
        select n, case when locked then 'locked' else 'channel' end as why
        from unknown_channels
        union all
        select q.n, 'claim'
        from claim q
        where q.n not in (select n from kept)
          and q.n not in (select n from unknown_channels) ${quotas.refused}
      ), inserted as (${insertItems(sql)}
      ), ${timeline(sql, {
        from: sql`inserted`,
        kind: 'created',
        message: sql`case
          when on_brake then 'Created, waits for the brake'
          when state = 'QUEUE' then 'Created and scheduled'
          when detail = 'awaiting_approval' then 'Created, waits for approval'
          else 'Created as a draft'
        end`,
        data: sql`jsonb_build_object('publishDate', publish_date)`,
      })}, ${announce(sql, {
        'post.scheduled': {
          from: withChannel(
            sql,
            sql`(select * from inserted where state = 'QUEUE' and root_post_id is null)`,
            sql`channel`,
          ),
          payload: queuedFact(sql),
        },
        'post.approval_requested': {
          from: withChannel(sql, sql`(select * from inserted where approval_state = 'awaiting')`, sql`channel`),
          payload: decidedFact(sql, sql`created_by`),
        },
        'post.paused': {
          from: withChannel(
            sql,
            sql`(select * from inserted where detail = 'paused' and root_post_id is null)`,
            sql`channel`,
          ),
          payload: pausedFact(sql, pauseReason(sql)),
        },
      })}, ${channelsUpdated(sql, value('horizonMs'))} ${quotas.counted}
      ${reminders?.inStatement(sql, sql`(select * from earlier where remind) m`, value('version')) ?? sql``}
      select (select json_agg(json_build_object('n', n, 'why', why)) from refused) as refused, (
          select json_agg(json_build_object('orgId', org_id, 'channelId', channel_id, 'dueAt', due_at))
          from earlier
          where remind
        ) as earlier, ${quotas.used} as used,
        ${isCounted ? sql`(select json_agg(id) from inserted where root_post_id is null)` : sql`null::json`} as roots`;
  });
/** By `isLimited` and `isCounted`. */
const insertions = (reminders?: ReminderMoves) =>
  [false, true].map((isLimited) => [false, true].map((isCounted) => insertionOf(isLimited, isCounted, reminders)));
type Insertions = ReturnType<typeof insertions>;
/** Those after which somebody else moves the reminders. */
const UNMOVED = insertions();

/** Completes the idempotency keys of the creates, each while its claim holds. */
const keepReplies = (sql: Sql): Fragment => sql`
      update idempotency_keys k
      set status = q.status, reply = q.reply
      from claim q
      where k.org_id = q."orgId"
        and k.scope = q.scope
        and k.key = q.key
        and k.claim = q.claim
        and q.n not in (select n from unknown_channels)
      returning q.n`;

/** The labels of the item `i`. */
const labelsOfItem = (sql: Sql): Labels => ({ group: sql`i."group"`, tags: sql`i."tagIds"` });

const insertItems = (sql: Sql): Fragment => sql`
      insert into posts (
        ${post.names(sql, 'create')}, org_id, state, detail, content_clean, publish_date, due_at, created_by,
        approval_state, approval_by, approval_at, approval_hash, on_brake
      )
      select ${post.values(sql, 'create', 'i')}, c.org_id,
        case when h.held then 'DRAFT' else i.state end,
        case when h.held then 'awaiting_approval' when i.state = 'QUEUE' then ${queuedDetail(sql, labelsOfItem(sql))} end, true,
        coalesce(i."publishDate", now()),
        case when i.state = 'QUEUE' and not h.held and i."rootPostId" is null then coalesce(i."publishDate", now()) end,
        i."createdBy",
        case when h.asked then 'awaiting' when h.approved then 'approved' end,
        case when h.asked then i."createdBy" when h.approved then i."approvalBy" end,
        case when h.asked then now() when h.approved then i."approvalAt" end,
        case when h.approved then i."approvalHash" end,
        i.state = 'QUEUE' and not h.held and ${braked(sql, labelsOfItem(sql))}
      from item i
      join channel c on c.id = i."channelId" and c.org_id = i."orgId"
      cross join lateral (
        select held, held and i."rootPostId" is null as asked,
          i."approvalHash" is not null and i."rootPostId" is null as approved
        from (
          select i.state = 'QUEUE' and i."approvalHash" is null and not i."waitsForRoom"
            and ${isHeld(sql, sql`c.approval_required`, sql`i."schedulesFreely"`)} as held
        ) q
      ) h
      where i.n not in (select n from refused)
      order by i.ordinal
      on conflict (id) do nothing
      returning ${post.names(sql, 'fact')}, approval_state, on_brake`;

/**
 * The channels of the items, locked, and the creates that name one which is not there, or which somebody else has
 * locked.
 */
const lockedChannels = (sql: Sql): Fragment => sql`
    channel as materialized (
      select c.*
      from (select distinct "orgId", "channelId" from item order by "channelId") i
      cross join lateral (
        select c.id, c.org_id, c.provider_id, c.name, c.next_due_at, c.disabled, c.refresh_needed, c.brakes,
          ${approvalSetting(sql, sql`c.org_id`)} as approval_required
        from channels c
        where c.id = i."channelId"
          and c.org_id = i."orgId"
          and c.deleted_at is null
        for no key update of c
        skip locked
      ) c
    ), elsewhere as (
      select i.n, c.id is not null as there
      from item i
      left join channels c on c.id = i."channelId" and c.org_id = i."orgId" and c.deleted_at is null
      where not exists (select from channel k where k.id = i."channelId" and k.org_id = i."orgId")
    ), unknown_channels as (
      select n, bool_and(there) as locked
      from elsewhere
      group by n
    )`;

/** Lowers the next due times of channels whose new posts are due earlier; `remind` where the reminder has to move. */
const channelsUpdated = (sql: Sql, horizonMs: Fragment): Fragment => sql`
    waiting as (
      select org_id, channel_id, min(due_at) as due_at
      from inserted
      where detail = 'scheduled'
        and due_at is not null
      group by org_id, channel_id
    ), earlier as (
      select w.*, w.due_at < coalesce(c.next_due_at, 'infinity')
          and w.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' as remind
      from waiting w
      join channel c on c.id = w.channel_id
    ), channels_updated as (
      update channels c
      set due_version = c.due_version + 1,
        next_due_at = least(c.next_due_at, w.due_at),
        reminder_due_at = case when w.remind then w.due_at else c.reminder_due_at end
      from earlier w
      where c.id = w.channel_id
        and c.org_id = w.org_id
    )`;
