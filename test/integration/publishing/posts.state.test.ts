import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as state from '../../../src/publishing/posts/state.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';

// A statement uses a partial index only where its own words imply those of the index: both are compared as Postgres
// writes them.

const ON_PREDICATES = {
  posts_waiting: state.waiting,
  posts_paused: state.paused,
  posts_unsettled: state.unsettled,
  posts_undecided: state.outcomeUnknown,
};

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

const conditionsOf = async (sql: TestDatabase['sql']) => {
  const rows = await sql<{ name: string; condition: string }[]>`
    select c.relname as name, pg_get_expr(i.indpred, i.indrelid) as condition
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'posts'::regclass
      and i.indpred is not null`;
  return new Map(rows.map(({ name, condition }) => [name, condition.replaceAll(/[()]/g, '')]));
};

test('partial indexes of posts use the predicates of post state word for word', async () => {
  for (const [name, predicate] of Object.entries(ON_PREDICATES)) {
    await db.sql`create index ${db.sql(`${name}_as_declared`)} on posts (id) where ${predicate(db.sql, 'posts')}`;
  }
  const conditions = await conditionsOf(db.sql);
  for (const name of Object.keys(ON_PREDICATES)) {
    expect([name, conditions.get(name)]).toEqual([name, conditions.get(`${name}_as_declared`)]);
    expect(conditions.get(name)).toBeDefined();
  }
});

test('every partial index on a state or a detail is among those compared', async () => {
  const named = [...(await conditionsOf(db.sql))].filter(
    ([name, condition]) => /\b(state|detail)\b/.test(condition) && !name.endsWith('_as_declared'),
  );
  expect(named.map(([name]) => name).toSorted()).toEqual(Object.keys(ON_PREDICATES).toSorted());
});
