import { expect, test } from '@jest/globals';
import { openEmbeddedEngine } from '../../../../src/platform/actor-runtime/embedded/index.ts';
import { actorsOf, createHost } from '../../../../src/platform/actor-runtime/index.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { createLedger, ledgerActor } from '../../../support/worlds/ledger-actor.ts';
import { quietLog } from '../../../support/worlds/quiet-log.ts';

/** A transaction that has a row, and does nothing more until it is told to end. */
async function standStill(sql: Database, name: string) {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
  const outcome = sql
    .begin(async (tx) => {
      await tx`insert into leases (name, holder, expires_at) values (${name}, 'it', now())`;
      begins();
      await over;
    })
    .then(() => 'committed')
    .catch(() => 'ended');
  await begun;
  return { end, outcome };
}

test('a transaction that a vanished machine leaves open is ended, one of another program is not', async () => {
  await using database = await testDatabase();
  await createLedger(database.sql);
  const clients = ['rookery', 'rookery', 'psql'].map((applicationName) =>
    openDatabase({ url: database.url, connections: 2, applicationName }),
  ) as [Database, Database, Database];
  const [sql, vanished, person] = clients;
  const log = quietLog();
  const incarnation = newId();
  await using opened = new AsyncDisposableStack();
  opened.defer(() => Promise.all(clients.map((one) => one.end({ timeout: 1 }))).then(() => undefined));
  const engine = opened.use(await openEmbeddedEngine({ sql, clock: systemClock, log, address: 'here', incarnation }));
  const host = createHost({
    implementations: [ledgerActor],
    needs: { sql, incarnation },
    actors: actorsOf(engine),
    clock: systemClock,
    log,
  });
  opened.use(await engine.host(host));

  const [left, theirs] = await Promise.all([standStill(vanished, 'left'), standStill(person, 'theirs')]);
  await eventually(
    'its lock is free',
    async () =>
      (
        await database.sql`
        select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
      ).length === 1,
    40_000,
  );
  left.end();
  theirs.end();
  expect(await Promise.all([left.outcome, theirs.outcome])).toEqual(['ended', 'committed']);
}, 60_000);
