import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';

/** References that may be without an index, and why reading the whole table is cheap. */
const WITHOUT_INDEX: Readonly<Record<string, string>> = {
  'connect_states.org_id': 'its rows live for minutes',
  'connect_states.user_id': 'its rows live for minutes',
};

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

interface Reference {
  /** `<table>.<columns>`. */
  name: string;
  child: string;
  parent: string;
  /** The rows go with those that they refer to. */
  cascades: boolean;
  isIndexed: boolean;
}

/** Every foreign key. It is indexed when an index on all rows that refer to something begins with one of its columns. */
const referencesIn = (sql: TestDatabase['sql']) => sql<Reference[]>`
  select k.conrelid::regclass || '.' || array_to_string(c.names, ',') as name, k.conrelid::regclass::text as child,
    k.confrelid::regclass::text as parent, k.confdeltype = 'c' as cascades, exists (
      select from pg_index i
      where i.indrelid = k.conrelid
        and i.indisvalid
        and i.indkey[0] = any(k.conkey)
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = any(c.present))
    ) as "isIndexed"
  from pg_constraint k
  cross join lateral (
    select array_agg(a.attname::text order by o.place) as names,
      array_agg(format('(%s IS NOT NULL)', a.attname)) as present
    from unnest(k.conkey) with ordinality o (number, place)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.number
  ) c
  where k.contype = 'f'
  order by 1`;

/** The tables from which the product deletes rows, and those whose rows go with them. */
function deletedFrom(references: readonly Reference[]): Set<string> {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join('src', file), 'utf8'));
  const tables = new Set(
    sources.flatMap((text) => [...text.matchAll(/\bdelete\s+from\s+(?:only\s+)?(\w+)/g)].map(([, table]) => table!)),
  );
  for (let before = -1; before < tables.size;) {
    before = tables.size;
    for (const { child, parent, cascades } of references) if (cascades && tables.has(parent)) tables.add(child);
  }
  return tables;
}

const withoutIndex = async (sql: TestDatabase['sql']) => {
  const references = await referencesIn(sql);
  const deleted = deletedFrom(references);
  return references.filter(({ parent, isIndexed }) => deleted.has(parent) && !isIndexed).map(({ name }) => name);
};

describe('foreign keys to rows that are deleted', () => {
  test('have an index on the side that refers, but for those with a reason', async () => {
    expect(await withoutIndex(db.sql)).toEqual(Object.keys(WITHOUT_INDEX).toSorted());
  });

  test('are found where a table refers without an index, or with one on some of its rows only', async () => {
    await db.sql.unsafe(`
      create table planted_notes (user_id uuid references users, post_id uuid references posts, tag_id uuid references tags);
      create index on planted_notes (user_id) where post_id is not null;
      create index on planted_notes (post_id) where post_id is not null;`);
    const found = await withoutIndex(db.sql);
    await db.sql.unsafe('drop table planted_notes');
    expect(found.filter((name) => name.startsWith('planted_notes'))).toEqual([
      'planted_notes.tag_id',
      'planted_notes.user_id',
    ]);
  });
});
