import { openEmbeddedBus } from '../../src/actor-runtime/embedded/bus.ts';
import { type Database, openDatabase } from '../../src/db/index.ts';
import { type Clock, newId, openVault, sha256, systemClock } from '../../src/kernel/index.ts';
import { openOutbound } from '../../src/outbound/index.ts';
import { append, type Relay, startRelay } from '../../src/outbox/index.ts';
import { openWebhooks, WEBHOOKS_TOPIC, type Webhooks, type WebhookBody, webhooksConsumer } from '../../src/webhooks/index.ts';
import { testBilling } from './billing.ts';
import { makeCertificate } from './certificate.ts';
import { quietLog } from './quiet-log.ts';

/** The certificate of receivers in these tests. */
export const tls = makeCertificate(['hook.test']);
export const SIGNING_KEY = 'the signing key of this deployment';

/** Orgs, channels and posts as rows, without the rooms that make them. */
export function openRows(sql: Database) {
  return {
    async org() {
      const id = newId();
      await sql`insert into organizations (id, name) values (${id}, 'Acme')`;
      return id;
    },
    async channel(orgId: string, name = 'Acme on X') {
      const id = newId();
      await sql`insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials) values (${id}, ${orgId}, 'x', 'v1', ${id}, ${name}, 'v2:')`;
      return id;
    },
    async post(
      orgId: string,
      channelId: string,
      { content = '<p>Hi</p>', url = 'https://x.com/acme/status/1' as string | null, root = undefined as string | undefined } = {},
    ) {
      const id = newId();
      await sql`insert into posts (id, org_id, channel_id, group_id, root_post_id, state, content, publish_date, published_at, release_url)
        values (${id}, ${orgId}, ${channelId}, 'g_1', ${root ?? null}, 'PUBLISHED', ${content}, '2026-09-01T10:00:00Z', now(), ${url})`;
      return id;
    },
  };
}

interface Options {
  url: string;
  incarnation?: string;
  clock?: Clock;
  timeoutMs?: number;
  signingKey?: string;
  allowedPrivateCidrs?: string[];
  onStatement?: (text: string) => void;
  /** Of its connections, for a test that looks for them. */
  applicationName?: string;
}

/** One process of the part from the outbox to the receivers: relay, bus, webhooks, and the way out. */
export async function startHost({
  url,
  incarnation = newId(),
  clock = systemClock,
  timeoutMs = 20_000, // no attempt ends for want of time where a test does not want that
  signingKey = SIGNING_KEY,
  allowedPrivateCidrs = ['127.0.0.1/32'],
  onStatement,
  applicationName = 'rookery',
}: Options) {
  const log = quietLog();
  const sql = openDatabase({ url, connections: 4, applicationName, ...(onStatement && { onStatement }) });
  const outbound = openOutbound({
    timeoutMs: 5_000,
    allowedPrivateCidrs,
    authorities: [tls.cert],
    resolver: async (name) => (name === 'hook.test' ? ['127.0.0.1'] : Promise.reject(new Error('ENOTFOUND'))),
  });
  const vault = openVault(sha256('test'));
  const webhooks = openWebhooks({ sql, clock, vault, outbound, billing: testBilling(sql), incarnation, signingKey, timeoutMs, log });
  const bus = openEmbeddedBus({ clock, log });
  const wakeUps: unknown[] = [];
  bus.subscribe(WEBHOOKS_TOPIC, async (message) => {
    wakeUps.push(message);
    for (const key of (message as { keys: string[] }).keys) webhooks.deliver(key).catch((err: unknown) => log.error({ err }, 'A round ended'));
  });
  let relay: Relay | undefined;
  return {
    sql,
    log,
    webhooks,
    bus,
    vault,
    wakeUps,
    incarnation,
    get relay() {
      return relay!;
    },
    /** Deals out the outbox from now on. */
    relays() {
      relay = startRelay({ sql, clock, bus, consumers: [webhooksConsumer], holder: incarnation, log });
    },
    async [Symbol.asyncDispose]() {
      await relay?.[Symbol.asyncDispose]();
      await webhooks.drain(0);
      await bus[Symbol.asyncDispose]();
      await outbound[Symbol.asyncDispose]();
      await sql.end({ timeout: 1 }); // a connection that was cut never answers its goodbye
    },
  };
}

/** Stores a webhook as the Organization does. */
export async function addWebhook(
  webhooks: Webhooks,
  orgId: string,
  url: string,
  more: Partial<WebhookBody> = {},
): Promise<{ id: string; secret: string | undefined }> {
  const { webhook, secret } = await webhooks.prepare(orgId, { name: 'Hook', url, integrations: [], ...more });
  await webhooks.add(orgId, webhook);
  return { id: webhook.id, secret };
}

export const announce = (sql: Database, orgId: string, topic: string, entityIds: readonly string[], payload = {}) =>
  append(
    sql,
    entityIds.map((entityId) => ({ orgId, topic, entityId, payload })),
  );
