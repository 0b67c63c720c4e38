import { openDatabase } from '../../../src/platform/db/index.ts';
import { listBriefly } from '../../../src/publishing/posts/reading/list.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import { CONTENT, type Tenant } from './seed.ts';

const AT_ONCE = 100_000;
export const DAYS = 360;
/** The date of the first post. */
export const FIRST = new Date('2030-01-01T00:00:00.000Z');
export const dayOf = (day: number): Date => new Date(FIRST.getTime() + day * 86_400_000);

/**
 * Drafts spread evenly over `DAYS` days, so many for each of the tenants, which have a channel each. Foreign keys and
 * change counters are left out: millions of rows would take an hour.
 */
export async function seedHistory(
  { sql }: Pick<TestDatabase, 'sql'>,
  tenants: readonly Tenant[],
  posts: number,
): Promise<void> {
  const total = posts * tenants.length;
  for (let from = 0; from < total; from += AT_ONCE)
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`
        insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date,
          creation_method)
        select gen_random_uuid(), t.org, t.channel, n::text, 'DRAFT', ${CONTENT}, true,
          ${FIRST}::timestamptz + (n::float8 / ${total}) * make_interval(days => ${DAYS}), 'API'
        from generate_series(${from}::int, ${Math.min(total, from + AT_ONCE) - 1}::int) n
        join unnest(${tenants.map(({ orgId }) => orgId)}::uuid[], ${tenants.map(({ channels }) => channels[0]!)}::uuid[])
          with ordinality as t (org, channel, place) on t.place = n % ${tenants.length} + 1`;
    });
  await sql`vacuum (analyze) posts`;
}

/**
 * The statement by which the product reads a page: organization, first and last date, and how many rows are its
 * parameters, in this order.
 */
export async function statementOfList({ url }: Pick<TestDatabase, 'url'>, { orgId }: Tenant): Promise<string> {
  const texts: string[] = [];
  const sql = openDatabase({ url, connections: 1, onStatement: (text) => void texts.push(text) });
  await listBriefly({ sql }, orgId, { from: FIRST, to: dayOf(1), limit: 1 });
  await sql.end();
  const [sent] = texts.filter((one) => /^\s*select[^]*to_char\(p\.publish_date/.test(one));
  // the first two are both the organization
  const text = sent?.replace(/\$(\d+)/g, (_, n: string) => `$${Math.max(1, Number(n) - 1)}`);
  const parameters = new Set(text?.match(/\$\d+/g));
  if (!text || parameters.size !== 4) throw new Error(`The statement of a page is another one: ${texts.join('\n')}`);
  return text;
}
