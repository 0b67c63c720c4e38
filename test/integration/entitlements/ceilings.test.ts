import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Answer, Client } from '../../support/worlds/app.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

// What an organization may have at most, whatever its plan: here without billing, where nothing else limits it.

let product: Product;
beforeAll(async () => (product = await wholeProduct({ sandbox: true })), 60_000);
afterAll(async () => product[Symbol.asyncDispose]());

interface Row {
  limit: 'webhooks' | 'channel' | 'team_members';
  max: number;
  /** As many as there may be, but one, and more that are stopped. */
  fill(orgId: string, count: number): Promise<unknown>;
  /** Makes or starts one by SQL, as another request would do it. */
  add(sql: Product['db']['sql'], orgId: string): Promise<unknown>;
  ask(client: Client, orgId: string): Promise<Answer>;
}

const rows: Row[] = [
  {
    limit: 'webhooks',
    max: 200,
    fill: (orgId, count) => product.db.sql`
      insert into webhooks (id, org_id, name, url)
      select gen_random_uuid(), ${orgId}, 'w', 'https://example.com/'
      from generate_series(1, ${count}::int)`,
    add: (sql, orgId) =>
      sql`insert into webhooks (id, org_id, name, url) values (${newId()}, ${orgId}, 'w', 'https://example.com/')`,
    ask: (client) => client.post('/webhooks', { name: 'w', url: 'https://example.com/', integrations: [] }),
  },
  {
    limit: 'channel',
    max: 10_000,
    fill: (orgId, count) => product.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, disabled)
      select gen_random_uuid(), ${orgId}, 'sandbox', 'v1', n::text, n::text, '', n > ${count}::int
      from generate_series(1, ${count}::int + 2) n`,
    add: (sql, orgId) => sql`
      update channels
      set disabled = false
      where id = (select id from channels where org_id = ${orgId} and disabled order by internal_id limit 1)`,
    ask: async (client, orgId) => {
      const [last] = await product.db.sql<{ id: string }[]>`
        select id from channels where org_id = ${orgId} and disabled order by internal_id desc limit 1`;
      return client.post('/integrations/enable', { id: last!.id });
    },
  },
  {
    limit: 'team_members',
    max: 10_000,
    fill: (orgId, count) => product.db.sql`
      with made as (
        insert into users (id, email, provider_name, provider_id, activated)
        select gen_random_uuid(), n || '@crowd.example', 'crowd', n::text, true
        from generate_series(2, ${count}::int + 2) n
        returning id, email
      )
      insert into memberships (user_id, org_id, role_key, disabled)
      select id, ${orgId}::uuid, 'viewer', split_part(email, '@', 1)::int > ${count}::int from made`,
    add: (sql, orgId) => sql`
      update memberships set disabled = false
      where org_id = ${orgId}
        and user_id = (select user_id from memberships where org_id = ${orgId} and disabled order by user_id limit 1)`,
    ask: async (client, orgId) => {
      const [last] = await product.db.sql<{ id: string }[]>`
        select user_id as id from memberships where org_id = ${orgId} and disabled order by user_id desc limit 1`;
      return client.put(`/members/${last!.id}`, { disabled: false });
    },
  },
];

test.each(rows)(
  '$limit: at most $max, also when two requests race for the last place',
  async ({ limit, max, fill, add, ask }) => {
    const { sql } = product.db;
    const { orgId, client } = await product.signUp();
    await fill(orgId, max - 1);
    const [open, admitted] = [gate(), gate()];
    const other = sql.begin(async (tx) => {
      await product.context.billing.admit(tx, orgId, limit);
      await add(tx as never, orgId);
      admitted.open();
      await open.passed;
    });
    await admitted.passed;
    let answered = false;
    const asked = ask(client, orgId).finally(() => (answered = true));
    await eventually('the second request waits for the first, or is answered', async () => {
      const waiting = await waitingOnLock(sql);
      return answered || waiting > 0;
    });
    open.open();
    await other;
    expect(await asked).toMatchObject({ status: 402, body: { code: 'limit_exceeded', limit, max } });
  },
);
