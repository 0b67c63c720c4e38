import { type Database, type Json, retentionRule, oldRows, type Sql } from '../db/index.ts';
import { isId } from '../kernel/index.ts';

export interface AuditRow {
  id: string;
  at: Date;
  orgId: string | null;
  userId: string | null;
  impersonatorId: string | null;
  ip: string | null;
  action: string;
  resource: string;
  resourceId: string | null;
  detail: Readonly<Record<string, Json>>;
}
export interface AuditFilter {
  /** A user: what they did, also as somebody else. */
  actor?: string | undefined;
  action?: string | undefined;
  /** A key or an approval: what programs did by it. */
  credential?: string | undefined;
}

/** The detail of a row; that of an act of an agent with its outcome, `unknown` where nothing more was heard of it. */
const detailWithOutcome = (sql: Sql) => sql`
  case when detail ? 'act' then detail || jsonb_build_object('outcome', coalesce((
    select after.detail ->> 'outcome'
    from audit_log after
    where after.detail ? 'ends'
      and after.detail ->> 'ends' = audit_log.detail ->> 'act'
      and after.org_id = audit_log.org_id
    limit 1
  ), 'unknown')) else detail end`;

/** A page, newest first, before the row `before`. `orgId` null: of all orgs and the whole instance. */
export async function listAudit(
  sql: Sql,
  orgId: string | null,
  { actor, action, credential }: AuditFilter,
  page: { limit: number; before?: string | undefined },
): Promise<AuditRow[]> {
  if (actor !== undefined && !isId(actor)) return []; // nobody has it
  return sql<AuditRow[]>`
    /* all orgs */
    select id::text, at, org_id as "orgId", user_id as "userId", impersonator_id as "impersonatorId", ip, action,
      resource, resource_id as "resourceId", ${detailWithOutcome(sql)} as detail
    from audit_log
    where true ${orgId === null ? sql`` : sql`and org_id = ${orgId}`}
      ${actor === undefined ? sql`` : sql`and (user_id = ${actor} or impersonator_id = ${actor})`}
      ${action === undefined ? sql`` : sql`and action = ${action}`}
      ${credential === undefined ? sql`` : sql`and detail ? 'credential' and detail ->> 'credential' = ${credential}`}
      ${page.before === undefined ? sql`` : sql`and id < ${page.before}::bigint`}
    order by audit_log.id desc
    limit ${page.limit}`;
}

/** Changes rows of the log in a transaction of its own; everybody else may only add to it (a trigger refuses it). */
export const changeAuditLog = <T>(sql: Database, change: (tx: Sql) => PromiseLike<T>) =>
  sql.begin(async (tx) => {
    await tx`select set_config('rookery.audit_log', 'retention', true)`;
    return change(tx);
  });

const OLD = oldRows('audit_log', 'at');
export const auditRetention = retentionRule('AUDIT_RETENTION_DAYS', ['audit'], OLD.due);

/** Forgets notes that are older than AUDIT_RETENTION_DAYS, at most `limit`; answers how many. */
export const dropOldAudit = (sql: Database, days: number, limit: number): Promise<number> =>
  changeAuditLog(sql, (tx) => OLD.drop(tx, days, limit));

/** Notes that still say from where an act came. */
export const oldCallers = oldRows('audit_log', 'at', (sql) => sql`t.ip is not null`).due;

/** Forgets from where acts came that are older than `days`, at most `limit`; the notes stay. Answers how many. */
export async function forgetOldCallers(sql: Database, days: number, limit: number): Promise<number> {
  const { count } = await changeAuditLog(
    sql,
    (tx) => tx`
      /* all orgs */
      update audit_log set ip = null
      where id = any(array(
        select id
        from audit_log
        where ip is not null and at < now() - ${days}::int * interval '1 day'
        order by at
        limit ${limit}
        for update
        skip locked
      ))`,
  );
  return count;
}

/** Stands where somebody was named who was erased. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/**
 * Forgets who acted and from where they came, in a transaction of `changeAuditLog`: what people did stays without them,
 * and so does what was done about them. Answers how many notes named them, which an index of all ids in them finds.
 */
export async function forgetActors(tx: Sql, userIds: readonly string[]): Promise<number> {
  if (userIds.length === 0) return 0;
  const ids = tx`${[...userIds]}::uuid[]`;
  const texts = tx`${[...userIds]}::text[]`;
  const { count } = await tx`/* all orgs */
    update audit_log
    set
      ip = case
        when user_id = any(${ids}) or impersonator_id = any(${ids}) or (user_id is null and resource = 'user') then null
        else ip
      end,
      user_id = case when user_id = any(${ids}) then ${NOBODY} else user_id end,
      impersonator_id = case when impersonator_id = any(${ids}) then ${NOBODY} else impersonator_id end,
      resource_id = case when resource_id = any(${texts}) then ${NOBODY} else resource_id end,
      detail = regexp_replace(detail::text, ${userIds.join('|')}, ${NOBODY}, 'g')::jsonb
    where audit_log_ids(user_id, impersonator_id, resource_id, detail) && ${ids}`;
  return count;
}
