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
  test('lists the columns of a use, by their names in the database and by their keys', () => {
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

  test('assigns only what a change has, and keeps the rest', () => {
    expect(paper.assign(sql, 'edit', 'e', 'b.own')).toBe(
      `last_page = case when b.own and e.given ? 'lastPage' then e."lastPage" else p.last_page end, ` +
        `marks = case when b.own and e.given ? 'marks' then e."marks" else p.marks end`,
    );
  });

  test('makes a schema of a use, in which what may be null may be left out', () => {
    const schema = z.strictObject(paper.shape('create'));
    expect(schema.parse({ id: 'i', group: 'g' })).toEqual({ id: 'i', group: 'g' });
    expect(schema.safeParse({ id: 'i', group: 'g', marks: [] }).success).toBe(false);
  });

  test('picks what of a value has the use and is given', () => {
    expect(paper.pick('edit', { id: 'i', lastPage: null, marks: undefined })).toEqual({ lastPage: null });
  });

  test('does not compile with an unknown use or a missing column', () => {
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
