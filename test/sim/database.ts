import { type Database, migrate, openDatabase } from '../../src/platform/db/index.ts';
import { openKeptSessions } from '../support/wire/database/kept-sessions.ts';
import { openPool } from '../support/wire/database/postgres-wire.ts';
import { searchPathOf, timeSchema } from '../support/wire/virtual-time.ts';
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
      select min(t.at) from post_timeline t
      where t.post_id = $1.id and t.kind = 'unconfirmed' and t.at >= $1.claimed_at
    $$;`;

/** Where tables lie decides in which order rows are read that nothing orders: nothing moves them by itself. */
const WITHOUT_VACUUM = `
  do $$
  declare one regclass;
  begin
    for one in select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname = 'public'
    loop execute format('alter table %s set (autovacuum_enabled = false)', one); end loop;
  end $$`;

/** What the planner takes for the size of tables: it plans alike whatever was in them before. */
const ALWAYS_ALIKE = `
  update pg_class set relpages = 1, reltuples = 0
  where relkind = 'r' and relnamespace in ('public'::regnamespace, 'sim'::regnamespace)`;

/** Of the sessions. */
const SETTINGS = {
  'sim.now': new Date(START).toISOString(),
  // one plan of a statement is enough
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  cpu_operator_cost: '0',
};

const SERVER = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const urlOf = (database: string): URL => Object.assign(new URL(SERVER), { pathname: `/${database}` });

/** Over a connection that is gone before time is virtual. */
async function runOn(url: string, work: (sql: Database) => Promise<unknown>): Promise<void> {
  const sql = openDatabase({ url, connections: 1 });
  await work(sql);
  await sql.end();
}
/** Makes a database anew whose time is that of its sessions. Answers how it is dropped. */
async function makeDatabase(name: string, how = ''): Promise<() => Promise<void>> {
  const drop = `drop database if exists ${name} with (force)`;
  await runOn(SERVER, async (root) => {
    await root.unsafe(drop);
    await root.unsafe(`create database ${name} ${how}`);
    await root.unsafe(searchPathOf(name));
    for (const [setting, value] of Object.entries(SETTINGS))
      await root.unsafe(`alter database ${name} set ${setting} = '${value}'`);
  });
  return () => runOn(SERVER, (root) => root.unsafe(drop));
}

/** A migrated database to be copied by each process that simulates. Disposing of it drops it. */
export async function buildTemplate(name: string): Promise<AsyncDisposable & { name: string }> {
  const drop = await makeDatabase(name);
  await runOn(urlOf(name).href, async (sql) => {
    await sql.unsafe(SCHEMA);
    await migrate(sql);
    await sql.unsafe(FOR_CHECKS);
    await sql.unsafe(WITHOUT_VACUUM);
    await sql.unsafe(ALWAYS_ALIKE);
  });
  return { name, [Symbol.asyncDispose]: drop };
}

/** Tables with something in them, beside that which every simulation begins with. */
const FILLED = `
  select c.oid::regclass::text as name
  from pg_class c
  where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'sim'::regnamespace)
    and c.relname <> 'migrations' and pg_relation_size(c.oid) > 0
  order by 1`;

/**
 * Copies the template for the simulations of this process, which have it one after the other. `sql` is for the checks:
 * in real time, and no door.
 */
export async function copyTemplate(template: string, name: string) {
  const drop = await makeDatabase(name, `template ${template} strategy wal_log`);
  const url = urlOf(name).href;
  const sessions = await openKeptSessions(url, 3);
  // open from before time is virtual: nothing of it may wait for a timer
  const sql = openPool(url, name, { max: 1, idle_timeout: null, max_lifetime: null, connect_timeout: null });
  return {
    sql,
    sessions,
    /** Makes it as the template is. */
    async empty(): Promise<void> {
      const filled = (await sql.unsafe<{ name: string }[]>(FILLED)).map((table) => table.name);
      await sql.unsafe(`
        begin;
        set local session_replication_role = replica;
        ${filled.map((table) => `delete from ${table};`).join('\n')}
        select setval(seqrelid::regclass, seqstart, false) from pg_sequence;
        commit;
        set sim.now = '${new Date(START).toISOString()}'`);
      if (filled.length > 0) await sql.unsafe(`vacuum (index_cleanup on) ${filled.join(', ')}`);
      await sql.unsafe(`${ALWAYS_ALIKE} and relpages <> 1`);
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
