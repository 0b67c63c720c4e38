import { z } from 'zod';
import type { Fragment, Sql } from './client.ts';

// The columns of a table, declared once: every list of them in a statement, and every type of its rows, is made from
// here.

/** A column. `uses` name the lists that it belongs to; `name` is given where it differs from the key in snake case. */
export interface Column<S extends z.ZodType = z.ZodType, U extends string = string> {
  readonly type: string;
  readonly schema: S;
  readonly uses: readonly U[];
  readonly name?: string;
}

const columnOf =
  <S extends z.ZodType>(type: string, schema: S) =>
  <const U extends string>(...uses: readonly U[]): Column<S, U> => ({ type, schema, uses });

/** Makes columns by their type, such as `column.text('create', 'read')`. */
export const column = {
  uuid: columnOf('uuid', z.string()),
  uuids: columnOf('uuid[]', z.array(z.string())),
  text: columnOf('text', z.string()),
  int: columnOf('int', z.int().min(0)),
  instant: columnOf('timestamptz', z.coerce.date()),
  oneOf: <const V extends readonly [string, ...string[]]>(...values: V) => columnOf('text', z.enum(values)),
  json: <S extends z.ZodType>(schema: S) => columnOf('jsonb', schema),
  /** The column may be null; whoever creates a row may leave it out. */
  nullable: <S extends z.ZodType, U extends string>(one: Column<S, U>): Column<z.ZodNullable<S>, U> => ({
    ...one,
    schema: one.schema.nullable(),
  }),
  named: <S extends z.ZodType, U extends string>(name: string, one: Column<S, U>): Column<S, U> => ({ ...one, name }),
};

type Columns = Readonly<Record<string, Column>>;
type UseOf<C extends Columns> = C[keyof C]['uses'][number];
type KeysOf<C extends Columns, U extends string> = {
  [K in keyof C]: U extends C[K]['uses'][number] ? K : never;
}[keyof C] &
  string;
type ShapeOf<C extends Columns, U extends string> = {
  [K in KeysOf<C, U>]: C[K]['schema'] extends z.ZodNullable ? z.ZodOptional<C[K]['schema']> : C[K]['schema'];
};

/** The part of a row that a statement reads or writes for one use. */
export type RowOf<T extends { columns: Columns }, U extends UseOf<T['columns']>> = {
  [K in KeysOf<T['columns'], U>]: z.output<T['columns'][K]['schema']>;
};

const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Declares a table. Its texts hold nothing but names of the declaration, so they go into statements as they are. */
export function table<C extends Columns>(columns: C) {
  type Use = UseOf<C>;
  const named = Object.entries(columns).map(([key, { name = snake(key), ...rest }]) => ({ ...rest, key, name }));
  const byUse = Map.groupBy(
    named.flatMap((one) => one.uses.map((use) => ({ ...one, use }))),
    ({ use }) => use,
  );
  const of = (use: Use) => byUse.get(use) ?? [];
  const list = (sql: Sql, parts: readonly string[]): Fragment => sql.unsafe(parts.join(', '));

  return {
    columns,
    /** `p.id, p.channel_id`: to insert into, or to return from a change. */
    names: (sql: Sql, use: Use, alias?: string) =>
      list(
        sql,
        of(use).map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)),
      ),
    /** `p.id as "id", p.channel_id as "channelId"`: the columns of `RowOf`. */
    select: (sql: Sql, use: Use, alias: string) =>
      list(
        sql,
        of(use).map(({ key, name }) => `${alias}.${name} as "${key}"`),
      ),
    /** `"id" uuid, "channelId" uuid`: the columns of a `json_to_recordset` over rows of `RowOf`. */
    record: (sql: Sql, use: Use) =>
      list(
        sql,
        of(use).map(({ key, type }) => `"${key}" ${type}`),
      ),
    /** `i."id", i."channelId"`: the values of such a recordset, in the order of `names`. */
    values: (sql: Sql, use: Use, alias: string) =>
      list(
        sql,
        of(use).map(({ key }) => `${alias}."${key}"`),
      ),
    /**
     * `content = case when <alias>.given ? 'content' then <alias>."content" else p.content end`; `given` is the change
     * as JSON.
     */
    assign: (sql: Sql, use: Use, alias: string, when = 'true') =>
      list(
        sql,
        of(use).map(
          ({ key, name }) =>
            `${name} = case when ${when} and ${alias}.given ? '${key}' then ${alias}."${key}" else p.${name} end`,
        ),
      ),
    /** The fields of a zod object for the use. */
    shape: <U extends Use>(use: U): ShapeOf<C, U> =>
      Object.fromEntries(
        of(use).map(({ key, schema }) => [key, schema instanceof z.ZodNullable ? schema.optional() : schema]),
      ) as ShapeOf<C, U>, // the filter above, as a type
    /** Picks the given columns that have the use: a column that is declared for it is passed on by itself. */
    pick: <U extends Use, V extends object>(use: U, value: V) => {
      const picked: Record<string, unknown> = {};
      for (const { key } of of(use)) {
        const given = (value as Readonly<Record<string, unknown>>)[key]; // any of its own keys, or none
        if (given !== undefined) picked[key] = given;
      }
      return picked as Pick<V, keyof V & KeysOf<C, U>>;
    },
  };
}
