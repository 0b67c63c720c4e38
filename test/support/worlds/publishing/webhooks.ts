import { startActors } from '../../../../actors/host/start.ts';
import type { EngineAndBus } from '../../../../src/context.ts';
import type { Database, Sql } from '../../../../src/platform/db/index.ts';
import { type Clock, newId } from '../../../../src/platform/kernel/index.ts';
import { append, type NewFact, type Topic } from '../../../../src/platform/outbox/index.ts';
import { type Webhooks, type WebhookBody, WEBHOOKS_TOPIC } from '../../../../src/delivery/webhooks/index.ts';
import { makeCertificate } from '../../wire/certificate.ts';
import { openPublishing } from './world.ts';

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
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${id}, ${orgId}, 'x', 'v1', ${id}, ${name}, 'v2:')`;
      return id;
    },
    async post(
      orgId: string,
      channelId: string,
      {
        content = '<p>Hi</p>',
        url = 'https://x.com/acme/status/1' as string | null,
        root = undefined as string | undefined,
      } = {},
    ) {
      const id = newId();
      await sql`
        insert into posts (id, org_id, channel_id, group_id, root_post_id, state, content, publish_date, published_at,
          release_url)
        values (${id}, ${orgId}, ${channelId}, 'g_1', ${root ?? null}, 'PUBLISHED', ${content}, '2026-09-01T10:00:00Z',
          now(), ${url})`;
      return id;
    },
  };
}

interface Options {
  url: string;
  /**
   * A process that is there already, whose engine this one calls by: the embedded one is open once for each database.
   */
  beside?: { engine: EngineAndBus };
  clock?: Clock;
  timeoutMs?: number;
  /** Of events that are not signed. */
  unsignedTimeoutMs?: number;
  onStatement?: (text: string) => void;
  /** Of its connections, for a test that looks for them. */
  applicationName?: string;
  /** Between two rounds of the reconciler; none comes where a test does not say so. */
  reconcileMs?: number;
}

/**
 * One process without the API, as the product opens it; receivers are at `hook.test`. Its actors, and the listeners
 * with them, begin with `starts`.
 */
export async function startHost({
  timeoutMs = 20_000, // no attempt ends for want of time where a test does not want that
  unsignedTimeoutMs = 60_000,
  reconcileMs = 3_600_000,
  beside,
  ...more
}: Options) {
  await using opened = new AsyncDisposableStack();
  const context = opened.use(
    await openPublishing({
      env: {
        SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
        WEBHOOK_TIMEOUT_MS: String(timeoutMs),
        OUTBOUND_HTTP_TIMEOUT_MS: String(unsignedTimeoutMs),
        WEBHOOK_SIGNING_SECRET: SIGNING_KEY,
      },
      wire: {
        authorities: [tls.cert],
        resolver: async (name) => (name === 'hook.test' ? ['127.0.0.1'] : Promise.reject(new Error('ENOTFOUND'))),
      },
      ...more,
      ...(beside && { engine: beside.engine }),
    }),
  );
  const { engine, bus, sql, log, webhooks } = context;
  opened.defer(() => webhooks.drain(0)); // attempts at receivers that hang, and rests before a retry, are not waited for
  const wakeUps: unknown[] = [];
  const running = opened.move();
  return {
    sql,
    log,
    webhooks,
    wakeUps,
    engine: { engine, bus },
    /** From now on facts are heard, and webhooks are woken and sent here. */
    async starts() {
      const publish = bus.publish.bind(bus);
      bus.publish = (topic, messages) => {
        if (topic === WEBHOOKS_TOPIC) wakeUps.push(...messages);
        return publish(topic, messages);
      };
      running.use(await startActors(context, { reconcileMs }));
      running.defer(() => webhooks.drain(0)); // before the actors, which wait for rounds
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
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

/**
 * Announces facts of posts or channels of an org, as their rows are now; `more` adds to each payload. What is not a row
 * of this org is left out.
 */
export async function announce(
  sql: Sql,
  orgId: string,
  topic: Topic,
  entityIds: readonly string[],
  more: object = {},
): Promise<void> {
  const url =
    topic === 'post.published' || topic === 'post.late'
      ? sql`|| jsonb_build_object('url', coalesce(p.release_url, ''))`
      : sql``;
  const found = /^(post|first_comment)\./.test(topic)
    ? await sql<Found[]>`
        select p.id, jsonb_build_object(
          'channelId', c.id, 'providerId', c.provider_id, 'channelName', c.name, 'rootPostId', p.root_post_id,
          'groupId', p.group_id,
          'content', p.content, 'publishDate', p.publish_date
        ) ${url} as payload
        from posts p
        join channels c on c.id = p.channel_id and c.org_id = p.org_id
        where p.org_id = ${orgId} and p.id = any(${[...entityIds]}::uuid[])`
    : await sql<Found[]>`
        select c.id, jsonb_build_object('providerId', c.provider_id, 'name', c.name) as payload
        from channels c where c.org_id = ${orgId} and c.id = any(${[...entityIds]}::uuid[])`;
  const payloads = new Map(found.map(({ id, payload }) => [id, payload]));
  await append(
    sql,
    entityIds.flatMap((entityId) => {
      const payload = payloads.get(entityId);
      return payload ? [{ orgId, topic, entityId, payload: { ...payload, ...more } } as NewFact] : [];
    }),
  );
}
interface Found {
  id: string;
  payload: object;
}
