// oxlint-disable max-lines -- a table: one row for each setting and sweep
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Sweep } from '../../../src/platform/wing/index.ts';
import { readChangeCounter } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type PaymentProcessor, startPaymentProcessor } from '../../support/peers/payment-processor.ts';
import { type Product } from '../../support/worlds/product.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { zoneAt } from '../../support/worlds/zones.ts';
import { settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: how long things are kept, and every sweep
// that forgets them.

const world = settingsWorld();
const { use, whole } = world;
const effect = effectsOf('retention');

describe('retention settings', () => {
  const DAYS = {
    EMAIL_LOG_RETENTION_DAYS: 11,
    ERRORS_RETENTION_DAYS: 12,
    MULTIPART_UPLOAD_RETENTION_DAYS: 13,
    SOFT_DELETE_RETENTION_DAYS: 14,
    IP_RETENTION_DAYS: 15,
    AUDIT_RETENTION_DAYS: 16,
    MEDIA_JOBS_RETENTION_DAYS: 17,
    NOTIFICATIONS_RETENTION_DAYS: 18,
    ANALYTICS_DAILY_RETENTION_DAYS: 40,
    ANALYTICS_POST_RETENTION_DAYS: 19,
    SOCIAL_COMMENT_RETENTION_DAYS: 21,
    CAMPAIGN_PURGE_DAYS: 22,
    AI_DESIGNER_SESSION_RETENTION_DAYS: 23,
    MASTRA_TRACE_RETENTION_DAYS: 24,
    AI_DESIGNER_STUCK_SESSION_MINUTES: 25,
  };
  let product: Product;
  let sql: Product['db']['sql'];
  let processor: PaymentProcessor;
  let bob: SignedUp;
  let sweeps: ReadonlyMap<string, Sweep>;
  beforeAll(async () => {
    processor = use(await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY }));
    product = use(
      await whole(
        { ...WITH_BILLING, ...Object.fromEntries(Object.entries(DAYS).map(([name, days]) => [name, String(days)])) },
        { paymentsServer: processor.url },
      ),
    );
    sql = product.db.sql;
    await sql`
      insert into leases (name, holder, expires_at)
      values ('sweeper', 'nobody', 'infinity')
      on conflict (name) do update set holder = 'nobody', expires_at = 'infinity'`; // its own timer stands aside
    bob = await product.signUp();
    sweeps = new Map(product.context.sweeps.map((sweep) => [sweep.name, sweep]));
  });
  /** Makes rows of these ages in days, lets one sweep run, and answers the ages that are left. */
  async function left(
    name: string,
    ages: readonly number[],
    make: (age: number, id: string) => Promise<unknown>,
    table: string,
    column = 'id',
  ) {
    const ids = new Map(ages.map((age) => [newId(), age]));
    for (const [id, age] of ids) await make(age, id);
    await sweeps.get(name)!.run(500);
    const there = new Set(
      (await sql`select ${sql(column)}::text as id from ${sql(table)}`).map(({ id }) => id as string),
    );
    return [...ids].filter(([id]) => there.has(id)).map(([, age]) => age);
  }
  const ago = (days: number) => sql`now() - ${days}::float8 * interval '1 day'`;
  const org = (id: string) => sql`insert into organizations (id, name) values (${id}, 'Old')`;
  const user = (id: string) =>
    sql`
      insert into users (id, email, provider_name, provider_id) values (${id}, ${`${id}@example.com`}, 'local', ${id})`;
  const hash = (id: string) => Buffer.from(id);
  const channel = (id: string) => sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${bob.orgId}, 'sandbox', 'v1', ${id}, 'c', 'v2:')`;
  const session = (id: string, expires: number, userId = bob.userId) => sql`
    insert into sessions (id, user_id, token_hash, expires_at, last_used_at)
    values (${id}, ${userId}, ${hash(id)}, ${ago(expires)}, ${ago(expires)})`;
  const file = (id: string, created: number, deleted: number | null, more: object = {}) =>
    sql`
    insert into files ${sql({ id, org_id: bob.orgId, name: 'a', original_name: 'a', storage_key: `x/${id}.png`, kind: 'image', mime: 'image/png', bytes: 1, ...more })}
    returning id`.then(
      () =>
        sql`
          update files
          set created_at = ${ago(created)}, deleted_at = ${deleted === null ? null : ago(deleted)}
          where id = ${id}`,
    );

  const SWEPT: Record<string, () => Promise<void>> = {
    'idempotency-keys': async () =>
      expect(
        await left(
          'idempotency-keys',
          [1.1, 0.9],
          (age, id) => sql`
          insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, created_at)
          values (${bob.orgId}, 'POST /x', ${id}, ${hash(id)}, ${newId()}, now(), ${ago(age)})`,
          'idempotency_keys',
          'key',
        ),
      ).toEqual([0.9]),
    'payment-events': async () => {
      const received = (age: number, id: string) => sql`
        insert into payment_events (id, type, outcome, created_at, received_at)
        values (${id}, 'invoice.payment_succeeded', 'applied', ${ago(age)}, ${ago(age)})`;
      expect(await left('payment-events', [90.1, 89.9], received, 'payment_events')).toEqual([89.9]);
    },
    'old-runs': async () => {
      const touched = (age: number, id: string) => sql`
        insert into runs (id, org_id, kind, state, is_active, input, touched_at)
        values (${id}, ${bob.orgId}, 'designer', 'completed', false, '{}', ${ago(age)})`;
      expect(await left('old-runs', [23.1, 22.9], touched, 'runs')).toEqual([22.9]);
      const active = (age: number, id: string) => sql`
        insert into runs (id, org_id, kind, state, is_active, input, touched_at)
        values (${id}, ${bob.orgId}, 'designer', 'x', true, '{}', ${ago(age)})`;
      expect(await left('old-runs', [23.1], active, 'runs')).toEqual([23.1]);
    },
    'ai-traces': async () => {
      const traced = (age: number, id: string) => sql`
        insert into ai_traces (id, org_id, run_id, step, provider_id, model, prompt_version, ended, input, began_at,
          ended_at)
        values (${id}, ${bob.orgId}, ${id}, 's', 'openai', 'm', 'v', 'stop', '', ${ago(age)}, ${ago(age)})`;
      expect(await left('ai-traces', [24.1, 23.9], traced, 'ai_traces')).toEqual([23.9]);
    },
    'agent-briefs': async () => {
      const prefer = (preferences: object) => sql`
        insert into user_profiles (user_id, notification_preferences) values (${bob.userId}, ${sql.json(preferences as never)})
        on conflict (user_id) do update set notification_preferences = excluded.notification_preferences`;
      const readers = () => sql`select from agent_brief_readers where user_id = ${bob.userId}`;
      await prefer({ categories: { agent_briefs: { email: true } } });
      await sweeps.get('agent-briefs')!.run(500);
      expect(await readers()).toHaveLength(1);
      await prefer({});
      await sweeps.get('agent-briefs')!.run(500);
      expect(await readers()).toEqual([]);
    },
    'stuck-sessions': async () => {
      const minutes = new Map([24, 26].map((age) => [newId(), age]));
      for (const [id, age] of minutes)
        await sql`
          insert into runs (id, org_id, kind, state, is_active, input, touched_at)
          values (${id}, ${bob.orgId}, 'designer', 'planning', true, '{}', ${ago(age / 1_440)})`;
      await sweeps.get('stuck-sessions')!.run(500);
      const planning = await sql`select id from runs where state = 'planning' and org_id = ${bob.orgId}`;
      expect(planning.map(({ id }) => minutes.get(id as string))).toEqual([24]);
    },
    'ai-reservations': async () => {
      const reserved = (age: number, id: string) => sql`
        insert into ai_reservations (org_id, ref, domain, provider_id, micros, source, day, until)
        values (${bob.orgId}, ${id}, 'ai', 'openai', 1, 'estimate', now()::date, ${ago(age)})`;
      expect(await left('ai-reservations', [1, -1], reserved, 'ai_reservations', 'ref')).toEqual([-1]);
    },
    'ai-late-costs': async () => {
      const late = (age: number, id: string) => sql`
        insert into ai_late_costs (org_id, ref, setting_id, call_ids, ask_at)
        values (${bob.orgId}, ${id}, ${newId()}, '{gen-1}', ${ago(age)})`;
      expect(await left('ai-late-costs', [1, -1], late, 'ai_late_costs', 'ref')).toEqual([-1]);
    },
    notifications: async () =>
      expect(
        await left(
          'notifications',
          [18.1, 17.9],
          (age, id) => sql`
          insert into notifications (id, org_id, user_id, source, category, title, content, created_at)
          values (${id}, ${bob.orgId}, ${bob.userId}, ${id}, 'storage', 't', 'c', ${ago(age)})`,
          'notifications',
        ),
      ).toEqual([17.9]),
    'analytics-schedules': async () => {
      const id = newId();
      await channel(id);
      await sweeps.get('analytics-schedules')!.run(500);
      expect(await sql`select from analytics_schedules where org_id = ${bob.orgId} and next_at > now()`).toHaveLength(
        1,
      );
    },
    'analytics-runs': async () => {
      const id = newId();
      await channel(id);
      await sql`update channels set provider_id = 'mastodon' where id = ${id}`;
      await sql`
        insert into analytics_schedules (org_id, next_at) values (${bob.orgId}, now())
        on conflict (org_id) do update set next_at = now()`;
      await sweeps.get('analytics-runs')!.run(500);
      expect(await sql`select from analytics_runs where org_id = ${bob.orgId}`).toHaveLength(1);
    },
    'analytics-summaries': async () => {
      await sql`
        insert into analytics_schedules (org_id, next_at) values (${bob.orgId}, now() + interval '1 day')
        on conflict (org_id) do update set summary_at = now()`;
      await sweeps.get('analytics-summaries')!.run(500);
      expect(
        await sql`select from analytics_schedules where org_id = ${bob.orgId} and summary_at > now()`,
      ).toHaveLength(1);
    },
    'analytics-weeks': async () => {
      const channelId = newId();
      await channel(channelId);
      const ages = [47, 39]; // the week of the first has ended
      for (const age of ages)
        await sql`
          insert into analytics_days (org_id, channel_id, metric, date, value)
          values (${bob.orgId}, ${channelId}, 'views', (now() at time zone 'UTC')::date - ${age}::int, 1)`;
      await sweeps.get('analytics-weeks')!.run(500);
      const kept = await sql`
        select 'day' as kept, (now() at time zone 'UTC')::date - date as age from analytics_days
        where channel_id = ${channelId}
        union all
        select 'week', null from analytics_weeks where channel_id = ${channelId}
        order by kept`;
      expect(kept).toEqual([
        { kept: 'day', age: 39 },
        { kept: 'week', age: null },
      ]);
    },
    'analytics-posts': async () => {
      const [channelId, postId] = [newId(), newId()];
      await channel(channelId);
      await sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
        values (${postId}, ${bob.orgId}, ${channelId}, 'g', 'PUBLISHED', 'Hi', ${ago(30)})`;
      for (const age of [20, 18])
        await sql`
          insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
          values (${bob.orgId}, ${channelId}, ${postId}, (now() at time zone 'UTC')::date - ${age}::int, '{}')`;
      await sweeps.get('analytics-posts')!.run(500);
      const kept = await sql`
        select (now() at time zone 'UTC')::date - date as age from analytics_post_days where post_id = ${postId}`;
      expect(kept).toEqual([{ age: 18 }]);
    },
    pushes: async () => {
      const device = newId();
      await sql`
        insert into push_tokens (id, user_id, session_id, token, token_hash, platform)
        select ${device}, user_id, id, 'x', 'x', 'ios'
        from sessions
        where user_id = ${bob.userId}
        limit 1`;
      const queued = (age: number, id: string) => sql`
        insert into pushes (id, token_id, category, title, content, created_at)
        values (${id}, ${device}, 'storage', 't', 'c', ${ago(age)})`;
      expect(await left('pushes', [0.05, 0.03], queued, 'pushes')).toEqual([0.03]); // an hour is 0.042 days
    },
    'notification-windows': async () => {
      const opened = (age: number, id: string) => sql`
        insert into notification_windows (user_id, kind, due_at)
        values (${bob.userId}, ${id}, ${ago(age)})`;
      expect(await left('notification-windows', [1, -1], opened, 'notification_windows', 'kind')).toEqual([-1]);
    },
    collaboration: async () => {
      await sql`
        insert into collaboration_documents (org_id, room, state, agreed, writer)
        values (${bob.orgId}, 'group:swept', '', '{}', 'x')`;
      const kept = (age: number, id: string) => sql`
        insert into collaboration_versions (id, org_id, room, reason, contents, created_at)
        values (${id}, ${bob.orgId}, 'group:swept', 'session', '{}', ${ago(age)})`;
      expect(await left('collaboration', [90.1, 89.9], kept, 'collaboration_versions')).toEqual([89.9]);
      await sql`update collaboration_documents set checked_at = ${ago(1.1)} where room = 'group:swept'`;
      await sweeps.get('collaboration')!.run(500);
      expect(await sql`select from collaboration_documents where room = 'group:swept'`).toHaveLength(0); // it has no posts
    },
    'media-jobs': async () =>
      expect(
        await left(
          'media-jobs',
          [17.1, 16.9],
          (age, id) => sql`
          insert into media_jobs (id, org_id, operation, provider_id, provider_version, own_setting, request,
            input_hash, reservation, is_export, state, ended_at, settled_at)
          values (${id}, ${bob.orgId}, 'image', 'replicate', 'v1', true, '{}', '', ${newId()}, false, 'done',
            ${ago(age)}, ${ago(age)})`,
          'media_jobs',
        ),
      ).toEqual([16.9]),
    'media-transforms': async () =>
      expect(
        await left(
          'media-transforms',
          [17.1, 16.9],
          (age, id) => sql`
          insert into media_transforms (id, org_id, source_id, operation, params, state, next_at, ended_at)
          values (${id}, ${bob.orgId}, ${newId()}, 'resize', '{}', 'done', null, ${ago(age)})`,
          'media_transforms',
        ),
      ).toEqual([16.9]),
    'ended-campaigns': async () => {
      const campaign = async (age: number, id: string) => {
        const tagId = newId();
        await sql`insert into tags (id, org_id, name) values (${tagId}, ${bob.orgId}, ${tagId})`;
        await sql`
          insert into campaigns (id, org_id, tag_id, end_date)
          values (${id}, ${bob.orgId}, ${tagId}, (now() at time zone 'UTC')::date - ${age}::int)`;
      };
      expect(await left('ended-campaigns', [23, 22], campaign, 'campaigns')).toEqual([22]);
    },
    competitors: async () => {
      const id = newId();
      await sql`
        insert into competitors (id, org_id, provider_id, handle) values (${id}, ${bob.orgId}, 'x', ${id})`;
      await sweeps.get('competitors')!.run(500);
      expect(await sql`select from competitors where id = ${id} and next_read_at > now()`).toHaveLength(1);
    },
    'competitor-snapshots': async () => {
      const competitor = newId();
      await sql`
        insert into competitors (id, org_id, provider_id, handle, next_read_at)
        values (${competitor}, ${bob.orgId}, 'x', ${competitor}, 'infinity')`;
      const ages = [549, 548];
      for (const age of ages)
        await sql`
          insert into competitor_snapshots (competitor_id, day, org_id, metrics)
          values (${competitor}, (now() at time zone 'UTC')::date - ${age}::int, ${bob.orgId}, '{}')`;
      await sweeps.get('competitor-snapshots')!.run(500);
      expect(
        await sql`
          select (now() at time zone 'UTC')::date - day as age
          from competitor_snapshots
          where competitor_id = ${competitor}`,
      ).toEqual([{ age: 548 }]);
    },
    'streak-reminders': async () => {
      const orgId = newId();
      await org(orgId);
      // a zone without changes of its clocks, where it is between 21 and 22 o'clock
      const zone = zoneAt(21, new Date());
      await sql`update organizations set timezone = ${zone} where id = ${orgId}`;
      await sql`
        insert into streak_days (org_id, day)
        select ${orgId}, (now() at time zone ${zone})::date - n
        from generate_series(1, 3) n`;
      await sweeps.get('streak-reminders')!.run(500);
      expect(await sql`select from streak_days where org_id = ${orgId} and reminded`).toHaveLength(1);
    },
    renewals: async () => {
      const id = newId();
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, token_expires_at)
        values (${id}, ${bob.orgId}, 'sandbox', 'v1', ${id}, 'c', 'v2:', now() + interval '1 day')`;
      await sweeps.get('renewals')!.run(500);
      expect(await sql`select from channels where id = ${id} and renewal_tried_at is not null`).toHaveLength(1);
    },
    'auto-plugs': async () => {
      const [id, channelId] = [newId(), newId()];
      await channel(channelId);
      await sql`
        insert into plug_configurations (id, org_id, channel_id, plug_function, fields, next_run_at)
        values (${id}, ${bob.orgId}, ${channelId}, 'sandbox-auto-comment', '[]', now())`;
      await sweeps.get('auto-plugs')!.run(500);
      expect(await sql`select from plug_configurations where id = ${id} and next_run_at > now()`).toHaveLength(1);
    },
    comments: async () => {
      const id = newId();
      await channel(id);
      await sql`update channels set provider_id = 'mastodon' where id = ${id}`;
      await sql`
        insert into comment_sweeps (channel_id, org_id, next_run_at) values (${id}, ${bob.orgId}, now())`;
      await sweeps.get('comments')!.run(500); // without a post there is nothing to ask its network for
      expect(await sql`select from comment_sweeps where channel_id = ${id} and next_run_at > now()`).toHaveLength(1);
    },
    'old-comments': async () => {
      const [channelId, postId] = [newId(), newId()];
      await channel(channelId);
      await sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
        values (${postId}, ${bob.orgId}, ${channelId}, 'g', 'PUBLISHED', 'Hi', now())`;
      expect(
        await left(
          'old-comments',
          [22, 20],
          (age, id) => sql`
          insert into social_comments (id, org_id, channel_id, post_id, external_id, content, author_id, author_name,
            is_own, created_at)
          values (${id}, ${bob.orgId}, ${channelId}, ${postId}, ${id}, 'Hi', 'a', 'Ann', false, ${ago(age)})`,
          'social_comments',
        ),
      ).toEqual([20]);
    },
    'token-expiry': async () => {
      const id = newId();
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, token_expires_at)
        values (${id}, ${bob.orgId}, 'sandbox', 'v1', ${id}, 'c', 'v2:', now() + interval '6 days')`;
      await sweeps.get('token-expiry')!.run(500);
      expect(await sql`select from channels where id = ${id} and expiry_told_days = 7`).toHaveLength(1);
    },
    choices: async () => {
      const choice = (age: number, id: string) => sql`
        insert into channel_choices (id, org_id, user_id, provider_id, provider_version, expires_at)
        values (${id}, ${bob.orgId}, ${bob.userId}, 'youtube', 'v1', ${ago(age)})`;
      expect(await left('choices', [0.2, -0.2], choice, 'channel_choices')).toEqual([-0.2]);
    },
    logins: async () =>
      expect(
        await left(
          'logins',
          [1, -1],
          (age, id) => sql`
          insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, expires_at)
          values (${hash(id)}, ${bob.orgId}, ${bob.userId}, ${id}, 'v1', '', ${ago(age)})`,
          'connect_states',
          'provider_id',
        ),
      ).toEqual([-1]),
    oauth: async () =>
      expect(
        await left(
          'oauth',
          [31, 29],
          (age, id) => sql`
          insert into oauth_clients (id, client_id, name, redirect_uris, scope, created_at)
          values (${id}, ${id}, 'App', '{}', '{}', ${ago(age)})`,
          'oauth_clients',
        ),
      ).toEqual([29]),
    'provider-logins': async () =>
      expect(
        await left(
          'provider-logins',
          [1, -1],
          (age, id) => sql`
          insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at)
          values (${hash(id)}, 'consent', ${hash(id)}, ${id}, '', ${ago(age)})`,
          'login_states',
          'provider_id',
        ),
      ).toEqual([-1]),
    payments: async () => {
      await sql`
        insert into payment_tasks (id, org_id, kind, subscription_id)
        values (${newId()}, ${bob.orgId}, 'cancel', 'sub_swept')`;
      await sweeps.get('payments')!.run(500);
      expect(processor.asked.length).toBeGreaterThan(0);
      expect(
        await sql`select attempts from payment_tasks where subscription_id = 'sub_swept' and attempts = 0`,
      ).toEqual([]);
    },
    media: async () => {
      expect(
        await left(
          'media',
          [2, 0.5],
          (age, id) => file(id, age, null, { listed: false, source_url: 'https://example.com/a.png' }),
          'files',
        ),
      ).toEqual([0.5]);
    },
    lateness: async () =>
      expect(
        await left(
          'lateness',
          [0.2, 0.05],
          (age, id) => sql`insert into lateness (minute, incarnation, buckets) values (${ago(age)}, ${id}, '{1}')`,
          'lateness',
          'incarnation',
        ),
      ).toEqual([0.05]),
    paces: async () =>
      expect(
        await left(
          'paces',
          [0.2, -0.2],
          (age, id) => sql`insert into network_paces (key, posts, until) values (${id}, 1, ${ago(age)})`,
          'network_paces',
          'key',
        ),
      ).toEqual([-0.2]),
    circuits: async () =>
      expect(
        await left(
          'circuits',
          [1.2, 0.2],
          (age, id) => sql`
            insert into circuits (provider_id, provider_version, lane, probe_at) values (${id}, 'v1', '', ${ago(age)})`,
          'circuits',
          'provider_id',
        ),
      ).toEqual([0.2]),
    'change-counters': async () => {
      const ended = 2_147_483_647; // no connection has this number
      await sql`insert into change_counters (org_id, backend, changes) values (${bob.orgId}, ${ended}, 7)`;
      const counted = async () => BigInt(await readChangeCounter(sql, bob.orgId));
      const before = await counted();
      await sweeps.get('change-counters')!.run(1_000);
      expect(await sql`select from change_counters where backend = ${ended}`).toHaveLength(0);
      expect(await counted()).toBeGreaterThanOrEqual(before);
    },
    'post-plans': async () =>
      expect(
        await left(
          'post-plans',
          [1.1, 0.9],
          (age, id) =>
            sql`insert into post_plans (id, org_id, items, created_at) values (${id}, ${bob.orgId}, '[]', ${ago(age)})`,
          'post_plans',
        ),
      ).toEqual([0.9]),
    proposals: async () =>
      expect(
        await left(
          'proposals',
          [91, 89],
          (age, id) => sql`
          insert into proposals (id, org_id, content, content_hash, created_at, expires_at)
          values (${id}, ${bob.orgId}, '{}', '', ${ago(age)}, ${ago(age - 30)})`,
          'proposals',
        ),
      ).toEqual([89]),
    'webhook-deliveries': async () => {
      const webhook = newId();
      await sql`
        insert into webhooks (id, org_id, name, url) values (${webhook}, ${bob.orgId}, 'Hook', 'https://example.com/')`;
      expect(
        await left(
          'webhook-deliveries',
          [31, 29],
          (age, id) => sql`
          insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, created_at)
          values (${id}, ${bob.orgId}, ${webhook}, 'ping', '{}', 'succeeded', ${ago(age)})`,
          'webhook_deliveries',
        ),
      ).toEqual([29]);
    },
    audit: async () => {
      expect(
        await left(
          'audit',
          [17, 15],
          (age, id) =>
            sql`
              insert into audit_log (at, action, resource, resource_id) values (${ago(age)}, 'x.y', 'instance', ${id})`,
          'audit_log',
          'resource_id',
        ),
      ).toEqual([15]);
    },
    'disabled-orgs': async () => {
      const [orgId, channelId] = [newId(), newId()];
      await org(orgId);
      await channel(channelId);
      await sql`update channels set org_id = ${orgId}, next_due_at = now() + interval '1 day' where id = ${channelId}`;
      await sql`update organizations set disabled_at = now() where id = ${orgId}`;
      expect(await sweeps.get('disabled-orgs')!.run(500)).toBe(1);
      expect(await sql`select next_due_at from channels where id = ${channelId}`).toEqual([{ next_due_at: null }]);
    },
    impersonations: async () => {
      const of = newId();
      await session(of, -1);
      expect(
        await left(
          'impersonations',
          [1.1, 0.9],
          (age, id) => sql`
          insert into impersonations (id, admin_id, user_id, session_id, reason, expires_at)
          values (${id}, ${bob.userId}, ${bob.userId}, ${of}, 'x', ${ago(age)})`,
          'impersonations',
        ),
      ).toEqual([0.9]);
    },
    errors: async () =>
      expect(
        await left(
          'errors',
          [13, 11],
          (age, id) =>
            sql`insert into errors (at, incarnation, room, message) values (${ago(age)}, ${id}, 'posts', 'x')`,
          'errors',
          'incarnation',
        ),
      ).toEqual([11]),
    routes: async () => {
      const setting = {
        domain: 'vpn',
        providerId: 'custom',
        credentials: { protocol: 'socks5', host: '127.0.0.1', port: '9' },
      };
      const { id } = (await bob.client.post('/providers/settings', setting)).body;
      await bob.client.put('/egress', { route: id });
      await sql`update egress_checks set checked_at = now() - interval '1 day'`;
      await sweeps.get('routes')!.run(500);
      expect(
        (await sql`select from egress_checks where setting_id = ${id} and checked_at > now() - interval '1 hour'`)
          .count,
      ).toBe(1);
    },
    emails: async () =>
      expect(
        await left(
          'emails',
          [12, 10],
          (age, id) => sql`
          insert into emails (id, to_address, template, status, next_attempt_at, provider_id, provider_version,
            created_at)
          values (${id}, 'a@b.co', 'reset', 'sent', null, 'smtp', 'v1', ${ago(age)})`,
          'emails',
        ),
      ).toEqual([10]),
    'requested-mails': async () =>
      expect(
        await left(
          'requested-mails',
          [0],
          (_, id) =>
            sql`insert into mail_requests (id, kind, email, ip) values (${id}, 'reset', 'nobody@example.com', '')`,
          'mail_requests',
        ),
      ).toEqual([]),
    'one-time-codes': async () =>
      expect(
        await left(
          'one-time-codes',
          [1, -1],
          (age, id) => sql`
          insert into one_time_codes (code_hash, kind, user_id, email, expires_at)
          values (${hash(id)}, 'email', ${bob.userId}, ${id}, ${ago(age)})`,
          'one_time_codes',
          'email',
        ),
      ).toEqual([-1]),
    'pending-users': async () =>
      expect(
        await left(
          'pending-users',
          [8, 6],
          (age, id) =>
            sql`
              insert into users (id, email, provider_name, provider_id, created_at)
              values (${id}, ${`${id}@example.com`}, 'local', ${id}, ${ago(age)})`,
          'users',
        ),
      ).toEqual([6]),
    sessions: async () =>
      expect(await left('sessions', [31, 29], (age, id) => session(id, age), 'sessions')).toEqual([29]),
    invitations: async () =>
      expect(
        await left(
          'invitations',
          [1, -1],
          (age, id) => sql`
          insert into invitations (id, org_id, email, role_key, token_hash, invited_by, expires_at)
          values (${id}, ${bob.orgId}, ${`${id}@example.com`}, 'USER', ${hash(id)}, ${bob.userId}, ${ago(age)})`,
          'invitations',
        ),
      ).toEqual([-1]),
    traces: async () => {
      const ages = [16, 14];
      const ids = ages.map(() => newId());
      for (const [n, id] of ids.entries()) {
        await user(id);
        await sql`
          update users set ip = '203.0.113.9', agent = 'a browser', created_at = ${ago(ages[n]!)} where id = ${id}`;
        await session(newId(), -1, id);
        await sql`
          update sessions
          set ip = '203.0.113.9', user_agent = 'a browser', last_used_at = ${ago(ages[n]!)}
          where user_id = ${id}`;
      }
      await sweeps.get('traces')!.run(500);
      const kept = await sql`
          select u.ip, u.agent, s.ip as "sessionIp", s.user_agent as "sessionAgent"
          from users u
          join sessions s on s.user_id = u.id
          where u.id = any(${ids}::uuid[])
          order by u.created_at desc`;
      expect(kept).toEqual([
        { ip: '203.0.113.9', agent: 'a browser', sessionIp: '203.0.113.9', sessionAgent: 'a browser' },
        { ip: null, agent: null, sessionIp: '', sessionAgent: '' },
      ]);
    },
    'deleted-posts': async () => {
      const channelId = newId();
      await channel(channelId);
      expect(
        await left(
          'deleted-posts',
          [15, 13],
          (age, id) => sql`
          insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, created_at,
            deleted_at)
          values (${id}, ${bob.orgId}, ${channelId}, 'g', 'PUBLISHED', 'published', 'Hi', ${ago(400)}, ${ago(400)},
            ${ago(age)})`,
          'posts',
        ),
      ).toEqual([13]);
    },
    'server-limits': async () => {
      const id = newId();
      await channel(id);
      await sql`update channels set provider_id = 'mastodon' where id = ${id}`;
      await sweeps.get('server-limits')!.run(500);
      const [row] = await sql`
          select server_limits_due_at > now() + interval '30 minutes' as "isTaken" from channels where id = ${id}`;
      expect(row).toEqual({ isTaken: true });
    },
    contents: async () => {
      const [channelId, id] = [newId(), newId()];
      await channel(channelId);
      await sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
        values (${id}, ${bob.orgId}, ${channelId}, 'g', 'DRAFT', '<p>Hi<script>1</script></p>', now())`;
      await sweeps.get('contents')!.run(500);
      expect(await sql`select content from posts where id = ${id}`).toEqual([{ content: '<p>Hi</p>' }]);
    },
    organizations: async () =>
      expect(
        await left(
          'organizations',
          [31, 29],
          async (age, id) => [
            await org(id),
            await sql`update organizations set deleted_at = ${ago(age)} where id = ${id}`,
          ],
          'organizations',
        ),
      ).toEqual([29]),
    users: async () =>
      expect(
        await left(
          'users',
          [31, 29],
          async (age, id) => [await user(id), await sql`update users set deleted_at = ${ago(age)} where id = ${id}`],
          'users',
        ),
      ).toEqual([29]),
    'sandbox-ledger': async () =>
      expect(
        await left(
          'sandbox-ledger',
          [8, 6],
          (age, id) =>
            sql`
              insert into sandbox_ledger (at, account, step, accepted, answered)
              values (${ago(age)}, ${id}, 'publish', true, 'ok')`,
          'sandbox_ledger',
          'account',
        ),
      ).toEqual([6]),
  };
  test.each(Object.entries(SWEPT))('the sweep %s', async (_, see) => see());
  test('each sweep has a row above and is run by the host of the actors', async () => {
    expect([...sweeps.keys()].toSorted()).toEqual(Object.keys(SWEPT).toSorted());
    await sql`delete from leases where name = 'sweeper'`;
    await sql`update cron_runs set last_run_at = null`;
    await eventually('all have run', async () => {
      await product.sweeper.tick();
      const ran = await sql`select name from cron_runs where last_run_at is not null and last_status = 'ok'`;
      return ran.length === Object.keys(SWEPT).length;
    });
  });

  effect(['ANALYTICS_DAILY_RETENTION_DAYS'], 'days of channels', () => SWEPT['analytics-weeks']!());
  effect(['ANALYTICS_POST_RETENTION_DAYS'], 'days of posts', () => SWEPT['analytics-posts']!());
  effect(['EMAIL_LOG_RETENTION_DAYS'], 'the mail log [RT5]', () => SWEPT['emails']!());
  effect(['ERRORS_RETENTION_DAYS'], 'error rows [RT6]', () => SWEPT['errors']!());
  effect(['AUDIT_RETENTION_DAYS'], 'the audit log', () => SWEPT['audit']!());
  effect(['IP_RETENTION_DAYS'], 'address and agent of users and sessions [RT10]', () => SWEPT['traces']!());
  effect(['SOFT_DELETE_RETENTION_DAYS'], 'deleted posts and files [RT9]', async () => {
    await SWEPT['deleted-posts']!();
    expect(await left('media', [15, 13], (age, id) => file(id, 400, age), 'files')).toEqual([13]);
  });
  effect(['MEDIA_JOBS_RETENTION_DAYS'], 'media jobs that have ended', async () => {
    await SWEPT['media-jobs']!();
    await SWEPT['media-transforms']!();
  });
  effect(['AI_DESIGNER_SESSION_RETENTION_DAYS'], 'sessions of the designer [RT13]', () => SWEPT['old-runs']!());
  effect(['MASTRA_TRACE_RETENTION_DAYS'], 'traces of agents [RT14]', () => SWEPT['ai-traces']!());
  effect(['CAMPAIGN_PURGE_DAYS'], 'campaigns after their last day [RT12]', () => SWEPT['ended-campaigns']!());
  effect(['NOTIFICATIONS_RETENTION_DAYS'], 'notifications [RT7]', () => SWEPT['notifications']!());
  effect(['SOCIAL_COMMENT_RETENTION_DAYS'], 'comments of the networks [RT11]', () => SWEPT['old-comments']!());
  effect(['MULTIPART_UPLOAD_RETENTION_DAYS'], 'abandoned multipart uploads [RT8]', async () => {
    const begun = (age: number, id: string) => sql`
      insert into media_uploads (id, org_id, created_by, name, bytes, mime, storage_id, storage_version, own_storage,
        storage_key, provider_upload_id, created_at)
      values (${id}, ${bob.orgId}, ${bob.userId}, 'a', 1, 'image/png', 'local', 'v1', false, ${`x/${id}`}, ${id},
        ${ago(age)})`;
    expect(await left('media', [14, 12], begun, 'media_uploads')).toEqual([12]);
  });
});
