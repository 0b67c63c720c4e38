// A process of the product for the benchmark `notify`: facts in the outbox, and the listener that tells people of them.
import { openEmbeddedBus } from '../../../../src/platform/actor-runtime/embedded/bus.ts';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { append, type Listener, startListeners } from '../../../../src/platform/outbox/index.ts';
import { testApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
let statements = 0;
const onStatement = (text: string) => void (/^(begin|commit)/i.test(text.trim()) || (statements += 1));
const sql = openDatabase({ url: databaseUrl, onStatement });
/** Pushes that are queued and never sent: the key is none. */
const WITH_PUSH = { FCM_PROJECT_ID: 'p', FCM_CLIENT_EMAIL: 'push@example.com', FCM_PRIVATE_KEY: 'none' };
const { context, log } = await testApp({ sql, env: { ...WITH_MAIL, ...WITH_PUSH } });
const listener = context.listeners.find(({ name }) => name === 'notifications')!;
const bus = openEmbeddedBus({ clock: systemClock, log });
const GIVE_UP_MS = 60_000;

answering({
  /** Organizations with so many members each who may keep channels, and who have a device. */
  async seed({ orgs, people }: { orgs: number; people: number }) {
    await sql`truncate outbox, outbox_cursors, notifications, notification_windows, emails, pushes cascade`;
    await sql`delete from organizations`;
    await sql`delete from users`;
    const ids = Array.from({ length: orgs }, newId);
    await sql`insert into organizations (id, name) select id, 'Bench' from unnest(${ids}::uuid[]) id`;
    await sql`
      with made as materialized (
        select gen_random_uuid() as id, o.id as org_id
        from unnest(${ids}::uuid[]) as o (id), generate_series(1, ${people}::int)
      ), u as (
        insert into users (id, email, provider_name, provider_id, activated)
        select id, id || '@example.com', 'local', id::text, true
        from made
      ), p as (
        insert into user_profiles (user_id, name) select id, 'Ann' from made
      ), m as (
        insert into memberships (org_id, user_id, role_key) select org_id, id, 'admin' from made
      ), s as (
        insert into sessions (id, user_id, token_hash, expires_at)
        select id, id, sha256(id::text::bytea), now() + interval '1 year'
        from made
      )
      insert into push_tokens (id, user_id, session_id, token, token_hash, via, platform)
      select id, id, id, id::text, sha256(id::text::bytea), 'fcm', 'android'
      from made`;
    await sql`vacuum (analyze) organizations, users, user_profiles, memberships, sessions, push_tokens`;
    return ids;
  },
  /** A fact for each organization, until all are heard. */
  async hear({ orgIds }: { orgIds: readonly string[] }) {
    await append(
      sql,
      orgIds.map((orgId) => ({
        orgId,
        topic: 'channel.disabled' as const,
        entityId: newId(),
        payload: { providerId: 'sandbox', name: 'Acme', reason: 'person' as const },
      })),
    );
    const all = Promise.withResolvers<void>();
    const timer = setTimeout(() => all.reject(new Error('The facts are not heard')), GIVE_UP_MS);
    let left = orgIds.length;
    const counting: Listener = {
      ...listener,
      async hear(tx, facts, ...after) {
        await listener.hear(tx, facts, ...after);
        if ((left -= facts.length) <= 0) all.resolve();
      },
    };
    statements = 0;
    const begun = performance.now();
    const hearing = startListeners({
      sql,
      clock: systemClock,
      bus,
      listeners: [counting],
      holder: newId(),
      log,
      lookMs: 5,
    });
    try {
      await all.promise;
    } finally {
      clearTimeout(timer);
      await hearing[Symbol.asyncDispose](); // after the commit
    }
    return { ms: performance.now() - begun, statements };
  },
});
