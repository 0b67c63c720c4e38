import { migrate } from '../../src/platform/db/index.ts';
import { emptyAll, leaveUnvacuumed, planAlike } from '../support/wire/database/emptied.ts';
import { openKeptSessions } from '../support/wire/database/kept-sessions.ts';
import { makeDatabase, runOn, urlOf } from '../support/wire/database/made.ts';
import { openPool } from '../support/wire/database/postgres-wire.ts';
import { timeSchema } from '../support/wire/virtual-time.ts';
import { START } from './kernel.ts';

// Databases whose time is that of a simulation: product SQL and the defaults of its migrations run unchanged.

/**
 * Ids, time and snapshots of a simulation. A snapshot ends where everything of the simulation has ended, whatever others
 * do on the same server; the lock of the database is everybody's, so that several hosts work at once.
 */
const SCHEMA = `
  ${timeSchema("select pg_catalog.current_setting('sim.now')::timestamptz")}
  create sequence sim.ids;
  create function sim.gen_random_uuid() returns uuid language sql volatile
    as $$ select pg_catalog.md5(pg_catalog.nextval('sim.ids')::text)::uuid $$;
  create function sim.pg_current_snapshot() returns pg_snapshot language sql stable
    as $$
      select (x || ':' || x || ':')::pg_snapshot
      from pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) x
    $$;
  create function sim.pg_try_advisory_lock(bigint) returns boolean language sql as $$ select true $$;`;

/**
 * What the checks read: every fact that was ever announced, as the outbox forgets what all have heard, and since when
 * the answer to the attempt of a post is missing.
 */
const FOR_CHECKS = `
  create table sim.told (n bigint generated always as identity, topic text, entity_id uuid);
  create index on sim.told (entity_id);
  create function sim.tell() returns trigger language plpgsql
    as $$ begin insert into sim.told (topic, entity_id) values (new.topic, new.entity_id); return new; end $$;
  create trigger told after insert on outbox for each row execute function sim.tell();
  create function sim.lost_at(posts) returns timestamptz language sql stable
    as $$
      select min(t.at) from post_timeline t where t.post_id = $1.id and t.kind = 'unconfirmed'
        and t.id > (select max(c.id) from post_timeline c where c.post_id = t.post_id and c.kind = 'claimed')
    $$;`;

/** What is filled while something is simulated, but for the tables that the template has filled. */
const [SCHEMAS, KEPT] = [['public', 'sim'], ['migrations']];

/** Of the sessions. */
const SETTINGS = {
  search_path: 'public, sim, pg_catalog',
  'sim.now': new Date(START).toISOString(),
  // one plan of a statement is enough
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  // in the order of an index, whatever the size of tables and of what is left in their indexes
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  cpu_operator_cost: '0',
};

/** A migrated database to be copied by each process that simulates. Disposing of it drops it. */
export async function buildTemplate(name: string): Promise<AsyncDisposable & { name: string }> {
  const drop = await makeDatabase(name, SETTINGS);
  await runOn(urlOf(name), async (sql) => {
    await sql.unsafe(SCHEMA);
    await migrate(sql);
    await sql.unsafe(FOR_CHECKS);
    // where tables lie decides in which order rows are read that nothing orders: nothing moves them by itself
    await leaveUnvacuumed(sql, SCHEMAS);
    await planAlike(sql, SCHEMAS);
  });
  return { name, [Symbol.asyncDispose]: drop };
}

/**
 * Copies the template for the simulations of this process, which have it one after the other. `sql` is for the checks:
 * in real time, and no door.
 */
export async function copyTemplate(template: string, name: string) {
  const drop = await makeDatabase(name, SETTINGS, `template ${template} strategy wal_log`);
  const url = urlOf(name);
  const sessions = await openKeptSessions(url, 3);
  // open from before time is virtual: nothing of it may wait for a timer
  const sql = openPool(url, name, { max: 1, idle_timeout: null, max_lifetime: null, connect_timeout: null });
  return {
    sql,
    sessions,
    /** Makes it as the template is. */
    async empty(): Promise<void> {
      await emptyAll(sql, SCHEMAS, KEPT);
      await sql.unsafe(`discard plans; set sim.now = '${new Date(START).toISOString()}'`);
      await sessions.discardPlans();
    },
    async [Symbol.asyncDispose]() {
      sessions.end();
      await sql.end({ timeout: 1 });
      await drop();
    },
  };
}
export type SimulatedDatabase = Awaited<ReturnType<typeof copyTemplate>>;
