import { endAbandoned, hasAbandoned, type Sql } from '../db/index.ts';
import { atMost, startLoop } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import type { HostingOptions, Outage, Placement } from './engine.ts';
import type { Host, RuntimeLog } from './host.ts';

const EVERY_MS = 1_000;
/**
 * After the first heartbeat that did not arrive: its connection was lost, and a new one may be had at once. Without a
 * heartbeat nothing is published.
 */
const AGAIN_MS = 100;
const CLOSE_MS = 1_500;
const FORGET_EVERY = 600; // heartbeats
/** None of ours waits so long between two statements; a process that stands still for that time was given up. */
const ABANDONED_MS = 15_000;
/** Less than the silence after which others take over what this host holds. */
const GAP_MS = 4_000;
/** A silence of all hosts that is written down. Deployments are shorter. */
const OUTAGE_MS = 60_000;
/**
 * Between the clocks of a process and of the database; sessions and links expire by the one, posts are due by the
 * other.
 */
const DIFFERENCE_MS = 2_000;

export interface HeartbeatLoop extends AsyncDisposable {
  /**
   * Milliseconds since the last heartbeat was sent that reached the database, also those in which the machine slept;
   * Infinity before the first.
   */
  heartbeatAgeMs(): number;
  /**
   * Since when, by the monotonic clock, heartbeats have followed each other without a gap in which others may have
   * taken over.
   */
  steadySince(): number;
}

interface Options extends HostingOptions {
  /** A connection that nothing slow shares; the session of `holdDatabase` is one. */
  sql: Sql;
  clock: Clock;
  log: RuntimeLog;
  incarnation: string;
  engine: string;
  address: string;
  host: Pick<Host, 'types' | 'activations' | 'mailboxes'>;
}

/**
 * Writes down an outage that ends now, and has it told. Of several hosts that end one, each tells of it, and before it
 * does anything else.
 */
export async function endOutage({
  sql,
  log,
  afterOutage,
}: Pick<Options, 'sql' | 'log' | 'afterOutage'>): Promise<void> {
  const [outage] = await sql<Outage[]>`
    insert into actor_outages as o (began_at, ended_at)
    select last.at, clock_timestamp()
    from (
      select greatest(
        (select max(last_heartbeat) from actor_hosts),
        (select max(began_at) from actor_outages where ended_at is null)
      ) as at
    ) last
    where last.at < clock_timestamp() - ${OUTAGE_MS}::float8 * interval '1 ms'
    on conflict (began_at) do update
    set ended_at = case -- one that died before its first heartbeat did not end it
      when o.ended_at > clock_timestamp() - ${OUTAGE_MS}::float8 * interval '1 ms' then o.ended_at
      else excluded.ended_at end
    returning began_at as "beganAt", ended_at as "endedAt"`;
  if (!outage) return;
  log.warn({ ...outage }, 'no host was there for a while: what was due meanwhile is judged before anything is done');
  await afterOutage?.(outage);
}

/**
 * Says every second in `actor_hosts` that this host lives, and what it holds. Ends after the first heartbeat arrived;
 * disposing it deletes the row.
 */
export async function startHeartbeat({
  sql,
  clock,
  log,
  incarnation,
  engine,
  address,
  host,
  afterOutage,
}: Options): Promise<HeartbeatLoop> {
  let [sentAt, sentOn] = [-Infinity, -Infinity];
  let steadySince = Infinity;
  let silent = false;
  let differs = false;
  let cannotFree = false;
  let heartbeats = 0;

  /**
   * The monotonic clock stands still while the machine sleeps, and others take over all the same; the other clock may be
   * set back. So the longer time counts: one that is too long costs a moment in which nothing is sent.
   */
  const silenceMs = () => Math.max(clock.monotonic() - sentAt, clock.now().getTime() - sentOn);

  async function sendHeartbeat(): Promise<void> {
    if (silenceMs() > OUTAGE_MS) await endOutage({ sql, log, afterOutage });
    const sent = clock.monotonic();
    const earliest = clock.now().getTime();
    const [row] = await sql<{ at: Date; abandoned: boolean }[]>`
      insert into actor_hosts (incarnation, engine, address, types, active, mailboxes)
      values (${incarnation}, ${engine}, ${address}, ${[...host.types]}, ${sql.json(host.activations())},
        ${sql.json(host.mailboxes())})
      on conflict (incarnation) do update
      set active = excluded.active, mailboxes = excluded.mailboxes, last_heartbeat = clock_timestamp()
      returning clock_timestamp() as at, ${hasAbandoned(sql, ABANDONED_MS)} as abandoned`;
    compare(row!.at.getTime(), earliest, clock.now().getTime());
    if (silenceMs() > GAP_MS) steadySince = clock.monotonic();
    [sentAt, sentOn] = [sent, earliest];
    if (row!.abandoned) await freeLocks();
  }

  /** On this connection, as those of the pool may all wait for such a lock. A role may lack the right to do so. */
  async function freeLocks(): Promise<void> {
    try {
      const sessions = await endAbandoned(sql, ABANDONED_MS);
      log.warn({ sessions }, 'transactions that stood still were ended: a process is gone or stalled');
    } catch (error) {
      if (!cannotFree) log.warn({ err: error }, 'transactions that stand still cannot be ended');
      cannotFree = true;
    }
  }

  /** Says once that the clocks differ: the database's was read between the two instants of ours. */
  function compare(theirs: number, earliest: number, latest: number): void {
    const aheadMs = theirs > latest ? latest - theirs : Math.max(0, earliest - theirs);
    if (Math.abs(aheadMs) > DIFFERENCE_MS && !differs)
      log.warn(
        { aheadMs },
        'the clock of this process differs from that of the database: synchronize both, sessions and due times depend on them',
      );
    differs = Math.abs(aheadMs) > DIFFERENCE_MS;
  }

  async function leave(): Promise<void> {
    await loop[Symbol.asyncDispose]();
    sentAt = -Infinity;
    await sql`
      with gone as (
        delete from actor_hosts
        where incarnation = ${incarnation}
      ), former as (
        delete from actor_outages
        where ended_at is null
      )
      insert into actor_outages (began_at)
      values (clock_timestamp())
      on conflict do nothing`.catch((error: unknown) => log.warn({ err: error }, 'the row of this host stays behind'));
  }

  async function forget(): Promise<void> {
    await sql`delete from actor_hosts where last_heartbeat < now() - interval '1 day'`;
    await sql`delete from actor_outages where began_at < now() - interval '90 days'`;
  }

  await sendHeartbeat();
  const loop = startLoop({
    clock,
    firstRestMs: EVERY_MS,
    restMs: EVERY_MS,
    async round() {
      await sendHeartbeat();
      if (++heartbeats % FORGET_EVERY === 0) await forget();
      silent = false;
    },
    onError(error) {
      if (silent) return undefined;
      silent = true;
      log.warn({ err: error }, 'heartbeat not written, sent again in a moment');
      return AGAIN_MS;
    },
  });
  return {
    heartbeatAgeMs: silenceMs,
    steadySince: () => steadySince,
    async [Symbol.asyncDispose]() {
      await atMost(clock, CLOSE_MS, leave);
    },
  };
}

/** Every host as it last said of itself; one that is silent is listed for ten minutes more. */
export const placement = async (sql: Sql): Promise<Placement[]> =>
  sql<Placement[]>`
    select incarnation, engine, address, types, active as actors, mailboxes, started_at as "startedAt",
      last_heartbeat as "lastHeartbeat", last_heartbeat < now() - interval '5 s' as silent
    from actor_hosts
    where last_heartbeat > now() - interval '10 minutes'
    order by started_at, incarnation`;
