import { randomBytes } from 'node:crypto';
import type { Database } from '../../../src/platform/db/index.ts';

// Secrets that are known, and every place in which one of them may have been left.

/**
 * Where something stood: `log`, `metrics`, `redis`, `answer POST /auth/login`, `cookie POST /auth/login`, `row
 * webhooks.secret`.
 */
export interface Place {
  name: string;
  text: string;
}
interface Canary {
  name: string;
  value: string;
  /** The places that are meant to show it. */
  shownBy: RegExp | undefined;
}

/** A text that stands nowhere by chance. */
export const newCanary = (): string => `Canary${randomBytes(12).toString('hex')}`;

/**
 * A secret as it may be written: plain, in a URL, in JSON, as base64 in each of its three phases, as hexadecimal (a
 * bytea in a dump).
 */
function formsOf(value: string): string[] {
  const phases = ['', 'x', 'xx'].map((before) =>
    Buffer.from(before + value)
      .toString('base64')
      .slice(before.length === 0 ? 0 : 4)
      .replace(/.{0,3}=*$/, ''),
  );
  const all = [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString('hex'),
    ...phases,
  ];
  return [...new Set(all)].filter((form) => form.length >= 8);
}

export function openCanaries() {
  const canaries: Canary[] = [];
  return {
    get count() {
      return canaries.length;
    },
    /** Makes a secret and notes it. */
    plant(name: string): string {
      return this.note(name, newCanary());
    },
    /**
     * Notes a secret that there is, so that one that never came into being is an error; `shownBy` says which places may
     * show it.
     */
    note(name: string, value: unknown, shownBy?: RegExp): string {
      if (typeof value !== 'string' || value.length < 8)
        throw new Error(`${name} is no secret that can be looked for: ${String(value)}`);
      canaries.push({ name, value, shownBy });
      return value;
    },
    /** What was found where it may not be, as `<secret> in <place>`. */
    found(places: readonly Place[]): string[] {
      const sought = canaries.map((canary) => ({ ...canary, forms: formsOf(canary.value) }));
      const hits = places.flatMap(({ name, text }) =>
        sought
          .filter((canary) => !canary.shownBy?.test(name) && canary.forms.some((form) => text.includes(form)))
          .map((canary) => `${canary.name} in ${name}`),
      );
      return [...new Set(hits)];
    },
  };
}

/** From now on every row that is written to any table is kept, whatever becomes of it. */
export async function keepTrail(sql: Database): Promise<void> {
  await sql`create table canary_trail (id bigint generated always as identity, of text not null, row jsonb not null)`;
  await sql`
    create function canary_trail() returns trigger language plpgsql as $$ begin
      insert into canary_trail (of, row)
      values (tg_table_name, to_jsonb(new)); return null; end $$`;
  const tables = await sql<{ name: string }[]>`
    select relname as name
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'canary_trail'`;
  for (const { name } of tables)
    await sql`
      create trigger canary_trail after insert or update on ${sql(name)} for each row execute function canary_trail()`;
}

/** The trail column by column. */
export async function trailOf(sql: Database): Promise<Place[]> {
  const rows = await sql<{ of: string; name: string; value: string }[]>`
    select distinct of, field.key as name, field.value
    from canary_trail, jsonb_each_text(row) field
    where field.value is not null`;
  return rows.map(({ of, name, value }) => ({ name: `row ${of}.${name}`, text: value }));
}

/** Every answer that anybody in this process gets over HTTP, until disposed. */
export function hearAnswers() {
  const places: Place[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const { pathname } = new URL(String(input));
    const what = `${init?.method ?? 'GET'} ${pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id')}`;
    const headers = [...answer.headers].filter(([name]) => name !== 'set-cookie');
    places.push({ name: `answer ${what}`, text: `${JSON.stringify(headers)} ${await answer.clone().text()}` });
    places.push({ name: `cookie ${what}`, text: answer.headers.getSetCookie().join('\n') });
    return answer;
  };
  return {
    places,
    [Symbol.dispose]() {
      globalThis.fetch = fetch;
    },
  };
}
