// A process of the product for the benchmark `retention`: rows of all ages, and the sweeps that forget them.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';

const { databaseUrl, days } = JSON.parse(process.argv[2]!) as { databaseUrl: string; days: number };
let statements = 0;
const sql = openDatabase({ url: databaseUrl, onStatement: () => void (statements += 1) });
const { context } = await testApp({
  sql,
  env: {
    NOTIFICATIONS_RETENTION_DAYS: String(days),
    AUDIT_RETENTION_DAYS: String(days),
    ANALYTICS_POST_RETENTION_DAYS: String(days),
  },
});
/** As the sweeper asks for. */
const ROUND = 500;

answering({
  /** So many rows in each table, of which those beyond the retention are half. */
  async seed({ rows }: { rows: number }) {
    await sql`truncate notifications, analytics_post_days`;
    await sql.begin(async (tx) => {
      await tx`select set_config('rookery.audit_log', 'retention', true)`; // else it refuses it
      await tx`delete from audit_log`;
    });
    await sql`delete from organizations`;
    await sql`delete from users`;
    const [orgId, userId, channelId] = [newId(), newId(), newId()];
    await sql`insert into organizations (id, name) values (${orgId}, 'Bench')`;
    await sql`
      insert into users (id, email, provider_name, provider_id) values (${userId}, 'ann@example.com', 'local', ${userId})`;
    await sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channelId}, ${orgId}, 'sandbox', 'v1', 'c', 'Channel', '')`;
    await sql`
      insert into notifications (id, org_id, user_id, source, category, title, content, created_at)
      select gen_random_uuid(), ${orgId}, ${userId}, n::text, 'post_published', 'Published on Acme', 'Hello world',
        now() - (n % ${2 * days}::int + 0.5) * interval '1 day'
      from generate_series(0, ${rows - 1}::int) n`;
    await sql`
      insert into audit_log (at, org_id, user_id, action, resource, resource_id)
      select now() - (n % ${2 * days}::int + 0.5) * interval '1 day', ${orgId}, ${userId}, 'post.created', 'posts', n::text
      from generate_series(0, ${rows - 1}::int) n`;
    await sql`
      with made as (
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
        select gen_random_uuid(), ${orgId}, ${channelId}, n::text, 'PUBLISHED', 'hi', now()
        from generate_series(1, ${rows / (2 * days)}::int) n
        returning id
      )
      insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
      select ${orgId}, ${channelId}, id, (now() at time zone 'UTC')::date - d, '{"likes": 10, "views": 1000}'
      from made, generate_series(1, ${2 * days}::int) d`;
    await sql`vacuum (analyze) notifications, audit_log, analytics_post_days`;
    return { old: rows / 2 };
  },
  /** As the sweeper does it, until nothing is left. */
  async sweep({ sweep }: { sweep: string }) {
    const { run } = context.sweeps.find(({ name }) => name === sweep)!;
    statements = 0;
    const begun = performance.now();
    for (let done = ROUND; done >= ROUND;) done = await run(ROUND);
    return { ms: performance.now() - begun, statements };
  },
});
