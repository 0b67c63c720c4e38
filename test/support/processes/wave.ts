import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../../../src/platform/db/index.ts';
import { type ServiceClient, createdId, postBody, signUpAt } from './client.ts';
import type { Created, DeliveryRow, History, Hook, LedgerRow, PostRow, ReceivedHook } from './history.ts';
import { type Receiver, startReceiver } from '../wire/receiver.ts';
import { SIGNING_SECRET } from './service.ts';

// A load as many clients make it, over the public API only, with a record of every answer.

export interface Channel {
  id: string;
  account: string;
  client: ServiceClient;
}
export interface Wanted {
  channel: Channel;
  due: Date;
  latencyMs?: number;
  settings?: Readonly<Record<string, unknown>>;
  /** Files of the library. */
  image?: readonly object[];
  content?: string;
}
interface CrowdSize {
  orgs: number;
  /** Of all together. */
  channels: number;
  /**
   * Requests to each webhook that its receiver answers with 200 when the sender has given them up, from the first one
   * on.
   */
  answeredLate?: number;
}
export interface Crowd extends AsyncDisposable {
  readonly channels: readonly Channel[];
  readonly created: readonly Created[];
  /** Sends the creates, several at a time and in this order for each channel. */
  post(wanted: readonly Wanted[]): Promise<Created[]>;
  /** All that is known, for the checker. `ledger` is the database of the sandbox when it is another one. */
  history(sql: Database, ledger?: Database): Promise<History>;
}

const AT_ONCE = 8;
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.toReversed();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
    }),
  );
}

/**
 * Signs up `orgs` people, each with as many sandbox channels as all are to have together, and one webhook to a receiver
 * of our own.
 */
export async function openCrowd(url: string, { orgs, channels: wanted, answeredLate = 0 }: CrowdSize): Promise<Crowd> {
  await using begun = new AsyncDisposableStack();
  const received: ReceivedHook[] = [];
  const requests = new Map<string, number>();
  const receiver: Receiver = begun.use(
    await startReceiver({
      answer(response, { path, headers, body }) {
        received.push({ headers, body, status: 200 });
        const nth = (requests.get(path) ?? 0) + 1;
        requests.set(path, nth);
        const answer = () => void response.writeHead(200).end();
        if (nth > answeredLate) answer();
        else response.once('close', answer);
      },
    }),
  );
  const channels: Channel[] = [];
  const hooks: Hook[] = [];
  await eachOf(
    Array.from({ length: orgs }, (_, n) => n),
    async (n) => {
      const client = await signUpAt(url, `Org ${n}`);
      const mine: Channel[] = [];
      for (let c = n; c < wanted; c += orgs) {
        const account = `org-${n}-channel-${c}`;
        const { id } = await client.own('/integrations/social-connect/sandbox', z.object({ id: z.string() }), {
          body: { fields: { name: account }, allowPreview: true },
        });
        mine.push({ id, account, client });
      }
      const hook = await client.own('/webhooks', z.object({ id: z.string(), secret: z.string() }), {
        body: { name: 'all', url: `${receiver.url}/org-${n}`, integrations: [], secret: true },
      });
      hooks.push({ id: hook.id, secret: hook.secret, channelIds: mine.map(({ id }) => id) });
      channels.push(...mine);
    },
  );

  const created: Created[] = [];
  const create = async ({
    channel,
    due,
    latencyMs = 0,
    settings,
    image = [],
    content = `<p>Due ${due.toISOString()}</p>`,
  }: Wanted): Promise<Created> => {
    const body = postBody({
      channelId: channel.id,
      date: due,
      content,
      settings: { ...settings, latencyMs },
      image,
    });
    const answer = await channel.client
      .ask('/public/v1/posts', { body })
      .catch(() => ({ status: 0, body: undefined, text: '' }));
    const one: Created = {
      status: answer.status,
      postId: createdId(answer),
      channelId: channel.id,
      account: channel.account,
      due,
      answeredAt: new Date(),
      latencyMs,
      said: answer.text,
    };
    created.push(one);
    return one;
  };
  const end = begun.move();
  return {
    channels,
    created,
    async post(list) {
      const byChannel = Map.groupBy(list, ({ channel }) => channel.id);
      const answers: Created[] = [];
      await eachOf([...byChannel.values()], async (ones) => {
        for (const one of ones) answers.push(await create(one));
      });
      return answers;
    },
    async history(sql, ledger = sql) {
      return {
        created,
        hooks,
        received,
        deploymentSecret: SIGNING_SECRET,
        ledger: await ledgerOf(ledger),
        posts: await postsOf(sql),
        deliveries: await deliveriesOf(sql),
      };
    },
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

const ledgerOf = (sql: Database) => sql<LedgerRow[]>`
  select seq::float8 as seq, at, account, post_id as "postId", step, idempotency_key as "idempotencyKey", accepted,
    answered
  from sandbox_ledger
  order by seq`;
const postsOf = (sql: Database) => sql<PostRow[]>`
  select id, state, detail, error, attempt, deleted_at is not null as deleted, release_id as "releaseId" from posts`;
const deliveriesOf = (sql: Database) => sql<DeliveryRow[]>`
  select d.id, d.webhook_id as "webhookId", d.body::json -> 'data' ->> 'postId' as "postId",
    (select count(*)::int from webhook_attempts a where a.delivery_id = d.id) as attempts
  from webhook_deliveries d`;

/** How many posts the network has accepted. */
export async function acceptedCount(ledger: Database): Promise<number> {
  const [row] = await ledger<{ count: number }[]>`select count(*)::int as count from sandbox_ledger where accepted`;
  return row!.count;
}

/** What has not come to an end yet: posts, facts that were not heard, deliveries. */
async function unsettled(sql: Database): Promise<{ posts: number; facts: number; deliveries: number }> {
  const [row] = await sql<{ posts: number; facts: number; deliveries: number }[]>`
    select (select count(*)::int from posts where state = 'QUEUE' and deleted_at is null) as posts,
      (select count(*)::int from outbox) as facts,
      (select count(*)::int from webhook_deliveries where state = 'pending') as deliveries`;
  return row!;
}

/** How many posts of these channels are being sent. */
export async function publishingOf(sql: Database, channels: readonly Channel[]): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from posts
    where channel_id = any(${channels.map(({ id }) => id)}::uuid[]) and state = 'QUEUE' and detail = 'publishing'`;
  return row!.count;
}

/** What hosts that are gone still hold: posts that nobody sends, and slots that guard no lost answer. */
export async function abandoned(sql: Database): Promise<{ publishing: number; slots: number; sending: number }> {
  const [row] = await sql<{ publishing: number; slots: number; sending: number }[]>`
    with gone
      as (select p.* from posts p where not exists (select from actor_hosts h where h.incarnation = p.incarnation))
    select (select count(*)::int from gone where state = 'QUEUE' and detail = 'publishing') as publishing,
      (select count(*)::int
        from channels c
        where c.slot_incarnation is not null
          and not exists (select from actor_hosts h where h.incarnation = c.slot_incarnation)
        and not exists (select
          from posts p
          where p.id = c.slot_post_id and p.state = 'QUEUE' and p.detail = 'unconfirmed')) as slots,
      (select count(*)::int
        from webhooks w
        where w.slot_incarnation is not null
          and not exists (select from actor_hosts h where h.incarnation = w.slot_incarnation)) as sending`;
  return row!;
}

/** Waits until a figure is as wanted; the database may be away meanwhile. Ends with `false` when it never is. */
export async function comes(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > end) return false;
    await sleep(50);
  }
  return true;
}

/** Waits until everything has come to an end. Answers after how many milliseconds, or rejects with what is left. */
export async function allSettled(sql: Database, withinMs = 150_000): Promise<number> {
  const start = performance.now();
  const isEmpty = async () => Object.values(await unsettled(sql)).every((count) => count === 0);
  if (await comes(isEmpty, withinMs)) return Math.round(performance.now() - start);
  const left = await sql`
      select id, channel_id, state, detail, attempt, look_ups, error, due_at, look_up_at
      from posts
      where state = 'QUEUE' and deleted_at is null
      limit 5`;
  throw new Error(
    `Not settled within ${withinMs / 1_000} s: ${JSON.stringify(await unsettled(sql))} ${JSON.stringify(left)}`,
  );
}

/**
 * Posts over all channels, each channel's in their order. They fall due within one second, those of all channels at the
 * same instants; or one after another within `overMs`.
 */
export const waveOf = (
  channels: readonly Channel[],
  posts: number,
  from: Date,
  more: Partial<Wanted> = {},
  overMs?: number,
): Wanted[] => {
  const turns = Math.ceil(posts / channels.length);
  return Array.from({ length: posts }, (_, n) => {
    const turn = Math.floor(n / channels.length);
    const afterMs = overMs === undefined ? (turn * 1_000) / turns : (n * overMs) / posts;
    return { channel: channels[n % channels.length]!, due: new Date(from.getTime() + Math.floor(afterMs)), ...more };
  });
};
