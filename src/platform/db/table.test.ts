import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Sql } from './client.ts';
import { column, type RowOf, table } from './table.ts';

const { uuid, text, int, json, nullable, named } = column;
const paper = table({
  id: uuid('create', 'read'),
  group: named('group_id', text('create', 'read')),
  lastPage: nullable(int('create', 'edit')),
  marks: json(z.array(z.string()))('edit', 'read'),
});
const sql = { unsafe: (words: string) => words } as unknown as Sql; // a table writes nothing but constant text

describe('table', () => {
  test('a table lists the columns of a use, by database name and by key', () => {
    expect([
      paper.names(sql, 'create'),
      paper.names(sql, 'read', 'p'),
      paper.select(sql, 'read', 'p'),
      paper.record(sql, 'create'),
      paper.values(sql, 'create', 'i'),
    ]).toEqual([
      'id, group_id, last_page',
      'p.id, p.group_id, p.marks',
      'p.id as "id", p.group_id as "group", p.marks as "marks"',
      '"id" uuid, "group" text, "lastPage" int',
      'i."id", i."group", i."lastPage"',
    ]);
  });

  test('an assignment holds only the changed columns', () => {
    expect(paper.assign(sql, 'edit', 'e', 'b.own')).toBe(
      `last_page = case when b.own and e.given ? 'lastPage' then e."lastPage" else p.last_page end, ` +
        `marks = case when b.own and e.given ? 'marks' then e."marks" else p.marks end`,
    );
  });

  test('the schema of a use makes nullable columns optional', () => {
    const schema = z.strictObject(paper.shape('create'));
    expect(schema.parse({ id: 'i', group: 'g' })).toEqual({ id: 'i', group: 'g' });
    expect(schema.safeParse({ id: 'i', group: 'g', marks: [] }).success).toBe(false);
  });

  test('pick takes the columns of a use that the value has', () => {
    expect(paper.pick('edit', { id: 'i', lastPage: null, marks: undefined })).toEqual({ lastPage: null });
  });

  test('code with an unknown use or a missing column does not compile', () => {
    const row: RowOf<typeof paper, 'read'> = { id: 'i', group: 'g', marks: [] };
    // @ts-expect-error: the column is not of this use
    const page = row.lastPage;
    // @ts-expect-error: `marks` is missing
    const short: RowOf<typeof paper, 'read'> = { id: 'i', group: 'g' };
    // @ts-expect-error: no column has this use
    const listed = paper.names(sql, 'write');
    // @ts-expect-error: a column that the value does not have
    const picked = paper.pick('edit', { id: 'i' }).marks;
    expect([page, listed, picked, short]).toBeDefined();
  });
});
