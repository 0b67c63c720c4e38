// A process of the product for the benchmark `digest`: windows that are due, closed as the sweeper closes them.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { testApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
let statements = 0;
const onStatement = (text: string) => void (/^(begin|commit)/i.test(text.trim()) || (statements += 1));
const sql = openDatabase({ url: databaseUrl, onStatement });
const { context } = await testApp({ sql, env: WITH_MAIL });
const { run } = context.sweeps.find(({ name }) => name === 'notification-windows')!;
const ROUND = 500;

answering({
  /** Members of one organization, each with a digest that is due, of so many lines. */
  async seed({ people, lines }: { people: number; lines: number }) {
    for (const table of ['organizations', 'users', 'emails']) await sql`delete from ${sql(table)}`;
    const orgId = newId();
    await sql`insert into organizations (id, name) values (${orgId}, 'Bench')`;
    await sql`
      with u as (
        insert into users (id, email, provider_name, provider_id, activated)
        select id, id || '@example.com', 'local', id::text, true
        from (select gen_random_uuid() as id from generate_series(1, ${people}::int)) ids
        returning id
      ), p as (
        insert into user_profiles (user_id, name, notification_preferences) select id, 'Ann', '{"digest": "Daily"}' from u
      ), m as (
        insert into memberships (org_id, user_id, role_key) select ${orgId}, id, 'member' from u
      )
      insert into notification_windows (user_id, kind, due_at) select id, 'digest', now() from u`;
    await sql`
      insert into notification_lines (user_id, kind, org_id, category, title, content)
      select w.user_id, w.kind, ${orgId}::uuid, 'post_published', 'Published on Acme ' || n, 'Hello'
      from notification_windows w, generate_series(1, ${lines}::int) n`;
    await sql`analyze`;
  },
  async close() {
    statements = 0;
    const begun = performance.now();
    for (let closed = ROUND; closed >= ROUND;) closed = await run(ROUND);
    return { ms: performance.now() - begun, statements };
  },
});
