import { oldTransforms } from '../../library/media/index.ts';
import { type Fragment, groupCommit, oldRows, retentionRule, type Sql } from '../../platform/db/index.ts';
import { isId } from '../../platform/kernel/index.ts';
import type { Cost, MediaHandle, MediaOperation, Segment } from '../../providers/registry/index.ts';
import { ODD_FACTOR } from '../budget/index.ts';
import type { JobClaim } from './claim-store.ts';
import {
  type ClaimedJob,
  type ExceededLimit,
  jobColumns,
  type JobProvider,
  type JobRow,
  type RemoteOutput,
} from './row.ts';
import type { AskedJob, JobState } from './rules.ts';

export interface NewJob extends JobProvider {
  id: string;
  orgId: string;
  userId: string;
  programId: string | null;
  operation: MediaOperation;
  request: AskedJob;
  inputHash: string;
  fallbacks: readonly JobProvider[];
  reservation: string;
  estimateMicros: number | undefined;
  isExport: boolean;
  /** When it has failed if it did not get its turn. */
  queueMs: number;
}

export async function insertJob(sql: Sql, job: NewJob): Promise<JobRow> {
  const [row] = await sql<JobRow[]>`
    insert into media_jobs as j (id, org_id, user_id, program_id, operation, provider_id, provider_version, setting_id,
      own_setting, model, request, input_hash, fallbacks, reservation, estimate_micros, is_export, next_at, deadline_at)
    values (${job.id}, ${job.orgId}, ${job.userId}, ${job.programId}, ${job.operation}, ${job.providerId},
      ${job.version}, ${job.settingId}, ${job.ownSetting}, ${job.model}, ${sql.json(job.request)}, ${job.inputHash},
      ${sql.json(job.fallbacks)}, ${job.reservation}, ${job.estimateMicros ?? null}, ${job.isExport}, now(),
      now() + ${job.queueMs}::float8 * interval '1 ms')
    returning ${jobColumns(sql)}`;
  return row!;
}

export async function findJob(sql: Sql, orgId: string, id: string): Promise<JobRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<JobRow[]>`
    select ${jobColumns(sql)}
    from media_jobs j
    where j.org_id = ${orgId} and j.id = ${id}`;
  return row;
}

export async function countQueuedJobs(sql: Sql, orgId: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n
    from media_jobs
    where org_id = ${orgId} and state = 'queued' and submitted_at is null`;
  return row!.n;
}

const held = (sql: Sql, { id, orgId, claim }: JobClaim) => sql`
  j.id = ${id} and j.org_id = ${orgId} and j.claim = ${claim} and j.ended_at is null`;

/**
 * The submit is about to leave. False: somebody has cancelled the job meanwhile. Undefined: the claim is over, or it may
 * have left before. In both cases it must not leave.
 */
export async function setSent(sql: Sql, job: JobClaim): Promise<boolean | undefined> {
  const [row] = await sql<{ isSent: boolean }[]>`
    update media_jobs j
    set sent_at = case when j.cancel_asked_at is null then now() end
    where ${held(sql, job)} and j.state = 'queued' and j.sent_at is null
    returning j.sent_at is not null as "isSent"`;
  return row?.isSent;
}

/** The provider has the job: its operation is named by the handle. Answers whether the claim still held. */
export async function setRunning(
  sql: Sql,
  job: JobClaim,
  { handle, inMs, mostMs }: { handle: MediaHandle; inMs: number; mostMs: number },
): Promise<boolean> {
  const { count } = await sql`
    update media_jobs j
    set state = 'running', handle = ${sql.json(handle)}, tries = 0, incarnation = null,
      deadline_at = now() + ${mostMs}::float8 * interval '1 ms',
      next_at = case
        when cancel_asked_at is not null then now()
        else now() + ${inMs}::float8 * interval '1 ms' end,
      updated_at = now()
    where ${held(sql, job)} and j.state = 'queued'`;
  return count > 0;
}

/** Whether another job has this operation: where a provider lists operations, two may look alike. */
export async function isHandleTaken(
  sql: Sql,
  { id, providerId }: Pick<ClaimedJob, 'id' | 'providerId'>,
  handle: MediaHandle,
): Promise<boolean> {
  const rows = await sql`
    /* all orgs: a key of the instance is used by many */
    select
    from media_jobs
    where handle = ${sql.json(handle)} and provider_id = ${providerId} and id <> ${id}
    limit 1`;
  return rows.length > 0;
}

/** A step is made again after `inMs`; a submit that surely left nothing behind is not sent. */
export async function repeatLater(
  sql: Sql,
  job: JobClaim,
  { inMs, tries, isUnsent = false }: { inMs: number; tries: number; isUnsent?: boolean },
): Promise<void> {
  await sql`
    update media_jobs j
    set tries = ${tries}, incarnation = null, next_at = now() + ${inMs}::float8 * interval '1 ms',
      submitted_at = case when ${isUnsent} then null else submitted_at end,
      sent_at = case when ${isUnsent} then null else sent_at end,
      updated_at = now()
    where ${held(sql, job)}`;
}

/** Another provider is asked, from the beginning. */
export async function moveJobTo(
  sql: Sql,
  job: JobClaim,
  next: JobProvider & Pick<NewJob, 'reservation' | 'estimateMicros' | 'fallbacks'>,
): Promise<boolean> {
  const { count } = await sql`
    update media_jobs j
    set provider_id = ${next.providerId}, provider_version = ${next.version}, setting_id = ${next.settingId},
      own_setting = ${next.ownSetting}, model = ${next.model}, reservation = ${next.reservation},
      estimate_micros = ${next.estimateMicros ?? null}, fallbacks = ${sql.json(next.fallbacks)},
      attempt = 0, tries = 0, submitted_at = null, sent_at = null, incarnation = null, next_at = now(), updated_at = now()
    where ${held(sql, job)} and j.state = 'queued'`;
  return count > 0;
}

export interface StillRunning extends JobClaim {
  progress: number | null;
  /** The provider said that it goes on; else it could not be asked. */
  isAnswered: boolean;
  tries: number;
  inMs: number;
}
/** Notes what polls said, many in one statement: the operations go on. */
export const openRunningNotes = () =>
  groupCommit<StillRunning, void>(async (sql, rows) => {
    await sql`
      /* all orgs */
      update media_jobs j
      set progress = coalesce(t.progress, j.progress),
        polled_at = case when t.is_answered then now() else j.polled_at end, tries = t.tries, incarnation = null,
        next_at = case
          when j.cancel_asked_at is not null or j.callback_at > j.claimed_at then now()
          else least(now() + t.in_ms * interval '1 ms', j.deadline_at) end,
        updated_at = now()
      from unnest(
        ${rows.map(({ id }) => id)}::uuid[],
        ${rows.map(({ orgId }) => orgId)}::uuid[],
        ${rows.map(({ claim }) => claim)}::int[],
        ${rows.map(({ progress }) => progress)}::int[],
        ${rows.map(({ isAnswered }) => String(isAnswered))}::text[]::boolean[],
        ${rows.map(({ tries }) => tries)}::int[],
        ${rows.map(({ inMs }) => inMs)}::float8[]
      ) as t (id, org_id, claim, progress, is_answered, tries, in_ms)
      where j.id = t.id
        and j.org_id = t.org_id
        and j.claim = t.claim
        and j.state = 'running'`;
    return rows.map(() => undefined);
  });

/** What a job cost, with its source: as it was told where that makes sense, else by its estimate. */
function costedBy(sql: Sql, cost: Cost | undefined): Fragment {
  const micros = cost?.micros ?? null;
  const told = sql`case
        when estimate_micros > 0 and ${micros}::bigint > ${ODD_FACTOR}::bigint * estimate_micros then null
        else ${micros}::bigint end`;
  return sql`cost_micros = coalesce(${told}, estimate_micros),
      cost_source = case
        when ${told} is not null then ${cost?.source ?? null}
        when estimate_micros is not null then 'estimate' end`;
}

/**
 * The provider is done: its results are to be copied. `outputs` null: they came with the answer, and lie here alone.
 * Under the same claim it may be said twice: the answer of the first commit was lost. Answers what the job cost, by the
 * estimate where no cost is told that makes sense; undefined: the claim is over.
 */
export async function setCopying(
  sql: Sql,
  job: JobClaim,
  done: {
    outputs: readonly RemoteOutput[] | null;
    segments: readonly Segment[] | undefined;
    cost: Cost | undefined;
  },
): Promise<{ costMicros: number | null } | undefined> {
  const [row] = await sql<{ costMicros: number | null }[]>`
    update media_jobs j
    set state = 'copying', outputs = ${done.outputs && sql.json(done.outputs)},
      segments = ${done.segments ? sql.json(done.segments.map((segment) => ({ ...segment }))) : null}, tries = 0, progress = 100,
      ${costedBy(sql, done.cost)},
      settled_at = coalesce(settled_at, now()), updated_at = now()
    where ${held(sql, job)} and j.state in ('queued', 'running', 'copying')
    returning j.cost_micros::float8 as "costMicros"`;
  return row;
}

/** Results that lay in a process that is gone are asked for once more. */
export async function pollAgain(sql: Sql, job: JobClaim): Promise<void> {
  await sql`
    update media_jobs j
    set state = 'running', incarnation = null, next_at = now(), updated_at = now()
    where ${held(sql, job)} and j.state = 'copying'`;
}

/** Result `n` is a file of the library; false: somebody else copies by now, so the file must not come. */
export async function addResult(sql: Sql, job: JobClaim, n: number, fileId: string): Promise<boolean> {
  const { count } = await sql`
    update media_jobs j
    set file_ids = file_ids || ${fileId}::uuid, updated_at = now()
    where ${held(sql, job)} and j.state = 'copying' and cardinality(file_ids) = ${n}`;
  return count > 0;
}

/** The end of a job. `isStopped`: the provider is told to stop, as a step of its own. */
export interface JobEnd {
  state: Extract<JobState, 'done' | 'failed' | 'cancelled' | 'unknown'>;
  errorCode?: string;
  error?: string;
  exceeded?: ExceededLimit;
  isStopped?: boolean;
}
/**
 * Which job ends: that of a claim, with `isUnsent` only if its submit has not left, or one that nobody works on: it was
 * never submitted, or it runs.
 */
export type Ending = (JobClaim & { isUnsent?: true }) | { id: string; orgId: string; from: 'unsent' | 'running' };
const FROM = {
  unsent: (sql: Sql) => sql`j.state = 'queued' and j.submitted_at is null`,
  running: (sql: Sql) => sql`j.state = 'running' and j.incarnation is null`,
} as const;

/** A job as it was when it ended. */
export type EndedJob = JobRow & Pick<ClaimedJob, 'reservation' | 'isExport'>;

export async function endJob(
  sql: Sql,
  job: Ending,
  { state, errorCode, error, exceeded, isStopped = false }: JobEnd,
): Promise<EndedJob | undefined> {
  const isIt =
    'claim' in job
      ? sql`${held(sql, job)} and (${!job.isUnsent} or j.sent_at is null)`
      : sql`j.id = ${job.id} and j.org_id = ${job.orgId} and ${FROM[job.from](sql)}`;
  const [row] = await sql<EndedJob[]>`
    update media_jobs j
    set state = ${state}, error_code = ${errorCode ?? null}, error = ${error ?? null},
      exceeded = ${exceeded ? sql.json(exceeded) : null}, ended_at = now(), tries = 0,
      outputs = null, segments = null, fallbacks = '[]', incarnation = null, claim = claim + 1,
      next_at = case when ${isStopped} and handle is not null then now() end,
      setting_id = case when ${isStopped} and handle is not null then setting_id end,
      progress = case when ${state} = 'done' then 100 else progress end,
      updated_at = now()
    where ${isIt}
    returning ${jobColumns(sql)}, j.reservation, j.is_export as "isExport"`;
  return row;
}

/** Whether a job was billed, and how much; `cost` undefined: its estimate stands. */
export type JobOutcome = { billed: false } | { billed: true; cost: Cost | undefined };

/** The reservation of a job is over. */
export async function setSettled(sql: Sql, { id, orgId }: Pick<JobRow, 'id' | 'orgId'>, outcome: JobOutcome) {
  const cost = outcome.billed ? costedBy(sql, outcome.cost) : sql`cost_micros = 0, cost_source = null`;
  await sql`
    update media_jobs j
    set ${cost}, settled_at = now(), updated_at = now()
    where j.org_id = ${orgId} and j.id = ${id}`;
}

/** The provider was told to stop, or is told again after `inMs`. */
export async function noteStop(sql: Sql, job: JobClaim, again: { inMs: number; tries: number } | undefined) {
  await sql`
    update media_jobs j
    set tries = ${again?.tries ?? 0}, incarnation = null, updated_at = now(),
      next_at = case when ${again !== undefined} then now() + ${again?.inMs ?? 0}::float8 * interval '1 ms' end,
      setting_id = case when ${again !== undefined} then setting_id end
    where j.id = ${job.id} and j.org_id = ${job.orgId} and j.claim = ${job.claim}`;
}

/** Asks whoever works on a submitted job to end it; answers whether there is such a job. */
export async function askToCancel(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    update media_jobs j
    set cancel_asked_at = coalesce(cancel_asked_at, now()), updated_at = now()
    where j.org_id = ${orgId} and j.id = ${id} and j.state in ('queued', 'running') and j.submitted_at is not null`;
  return count > 0;
}

/** The provider says that there is news: the next poll comes now. At most one of five seconds, and none that runs. */
export async function pollNow(sql: Sql, id: string): Promise<void> {
  await sql`
    /* all orgs: the token names the job */
    update media_jobs j
    set callback_at = now(), next_at = case when j.incarnation is null then least(j.next_at, now()) else j.next_at end
    where j.id = ${id}
      and j.state = 'running'
      and (j.callback_at is null or j.callback_at < now() - interval '5 s')`;
}

/** The reservation of a job of which nobody knows whether it was billed, locked against another settlement. */
export async function unknownForUpdate(sql: Sql, orgId: string, id: string): Promise<EndedJob | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<EndedJob[]>`
    select ${jobColumns(sql)}, j.reservation, j.is_export as "isExport"
    from media_jobs j
    where j.org_id = ${orgId} and j.id = ${id}
    for no key update`;
  return row;
}

export type JobKey = Pick<JobRow, 'id' | 'orgId'>;

/** Jobs that have not got their turn in time. */
export const findStale = (sql: Sql, limit: number, without: readonly JobKey[]) => sql<JobKey[]>`
  /* all orgs */
  select id, org_id as "orgId"
  from media_jobs
  where state = 'queued'
    and submitted_at is null
    and deadline_at < now()
    and id <> all(${without.map(({ id }) => id)}::uuid[])
  order by deadline_at
  limit ${limit}`;

/** Jobs of which nobody has said in `days` whether they were billed. */
export const findUnsettledJobs = (sql: Sql, days: number, limit: number, without: readonly JobKey[]) => sql<JobKey[]>`
  /* all orgs */
  select id, org_id as "orgId"
  from media_jobs
  where state = 'unknown'
    and settled_at is null
    and ended_at < now() - ${days}::int * interval '1 day'
    and id <> all(${without.map(({ id }) => id)}::uuid[])
  order by ended_at
  limit ${limit}`;

/** A job `t` of which nothing is to be done any more. */
const isOver = (sql: Sql) => sql`t.settled_at is not null and t.next_at is null`;
export const oldJobs = oldRows('media_jobs', 'ended_at', isOver);
export const mediaJobsRetention = retentionRule(
  'MEDIA_JOBS_RETENTION_DAYS',
  ['media-jobs', 'media-transforms'],
  oldJobs.due,
  oldTransforms.due,
);
