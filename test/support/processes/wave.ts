import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../../../src/platform/db/index.ts';
import { type ServiceClient, createdId, postBody, signUpAt } from './client.ts';
import { plantCanary, planIn } from './history/canary.ts';
import { ledgerOf, rowsOf, writtenIn } from './history/rows.ts';
import type { Created, Edited, History, Hook, LimitStep, ReceivedHook } from './history/shape.ts';
import { type Receiver, startReceiver } from '../wire/receiver.ts';
import { SIGNING_SECRET } from './service.ts';
import type { ThirdParties } from './third-parties/start.ts';

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
  /** What follows in its thread. */
  items?: readonly string[];
  firstComment?: string;
  /** Repeats it once it is out. */
  repostedBy?: Channel;
  /** Every so many days. */
  inter?: number;
}
export interface CrowdSize {
  orgs: number;
  /** Of all together. */
  channels: number;
  /**
   * Requests to each webhook that its receiver answers with 200 when the sender has given them up, from the first one
   * on.
   */
  answeredLate?: number;
  /** Where billing is on: the product's database, in which each organization gets a plan. */
  plans?: Database | undefined;
  /** Those who the product was started with; where they send mail, people activate their accounts. */
  thirdParties?: Pick<ThirdParties, 'codeTo' | 'read'> | undefined;
}
export interface Crowd extends AsyncDisposable {
  readonly channels: readonly Channel[];
  readonly created: readonly Created[];
  /** Sends the creates, several at a time and in this order for each channel. */
  post(wanted: readonly Wanted[]): Promise<Created[]>;
  /** Sends all of them at the same time. */
  postAtOnce(wanted: readonly Wanted[]): Promise<Created[]>;
  /** Changes a post, and records what was answered. */
  edit(post: Created, change: Pick<Edited, 'text' | 'due'>): Promise<Edited>;
  /** An organization that takes no part, whose rows others ask for from now on. */
  plantCanary(sql: Database): Promise<void>;
  /** Others ask for what the canary has. */
  askForCanary(): Promise<void>;
  /** Notes a limit that was set. */
  limit(step: LimitStep): void;
  /** Notes what was done for the product once the fault was over. */
  hand(what: string): void;
  /** Notes that the product was watched until all had come to an end. */
  letAlone(): void;
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
export async function openCrowd(
  url: string,
  { orgs, channels: wanted, answeredLate = 0, plans, thirdParties }: CrowdSize,
): Promise<Crowd> {
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
      const client = await signUpAt(url, `Org ${n}`, plans && planIn(plans), thirdParties?.codeTo);
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
    content,
    items = [],
    firstComment,
    repostedBy,
    inter,
  }: Wanted): Promise<Created> => {
    const text = `Due ${due.toISOString()}`;
    const body = postBody({
      channelId: channel.id,
      date: due,
      content: content ?? `<p>${text}</p>`,
      settings: {
        ...settings,
        latencyMs,
        ...(firstComment !== undefined && { firstComment }),
        ...(repostedBy && {
          'plug--sandbox-repost-from--active': true,
          'plug--sandbox-repost-from--integrations': [{ id: repostedBy.id }],
        }),
      },
      image,
      items: items.map((item) => `<p>${item}</p>`),
      inter,
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
      ...(content === undefined && { texts: [text, ...items] }),
      firstComment,
      repostedBy: repostedBy && [repostedBy.account],
      recurs: inter !== undefined,
    };
    created.push(one);
    return one;
  };
  const edited: Edited[] = [];
  const limits: LimitStep[] = [];
  const hands: string[] = [];
  let isLetAlone = false;
  let canary: Awaited<ReturnType<typeof plantCanary>> | undefined;
  const end = begun.move();
  return {
    channels,
    created,
    async edit({ postId, channelId }, { text, due }) {
      const { client } = channels.find(({ id }) => id === channelId)!;
      const { status } = await client
        .ask(`/public/v1/posts/${postId}`, {
          method: 'PUT',
          body: {
            ...(text !== undefined && { content: `<p>${text}</p>` }),
            ...(due && { publishDate: due.toISOString() }),
          },
        })
        .catch(() => ({ status: 0 }));
      const one: Edited = {
        postId: postId!,
        status,
        answeredAt: new Date(),
        ...(text !== undefined && { text }),
        ...(due && { due }),
      };
      edited.push(one);
      return one;
    },
    async plantCanary(sql) {
      canary = await plantCanary(url, sql, `${receiver.url}/canary`, thirdParties?.codeTo);
    },
    async askForCanary() {
      const [{ client, id }] = channels as [Channel];
      await canary?.ask(client, id);
    },
    limit: (step) => void limits.push(step),
    hand: (what) => void hands.push(what),
    letAlone: () => void (isLetAlone = true),
    async post(list) {
      const byChannel = Map.groupBy(list, ({ channel }) => channel.id);
      const answers: Created[] = [];
      await eachOf([...byChannel.values()], async (ones) => {
        for (const one of ones) answers.push(await create(one));
      });
      return answers;
    },
    postAtOnce: (list) => Promise.all(list.map(create)),
    async history(sql, ledger = sql) {
      const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);
      const { money, ...rows } = await rowsOf(sql, canary?.orgId);
      const { mails = [], ...payments } = (await thirdParties?.read(sql)) ?? {};
      return {
        created,
        edited,
        hooks,
        received,
        limits,
        hands,
        isLetAlone,
        deploymentSecret: SIGNING_SECRET,
        ledger: await ledgerOf(ledger),
        ...rows,
        money: { ...money, ...payments },
        mails,
        canary: await canary?.read(),
        written: [
          ...(await writtenIn(sql, 'channels', ids(channels))),
          ...(await writtenIn(sql, 'webhooks', ids(hooks))),
        ],
      };
    },
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

/** How many posts the network has accepted, without what follows them. */
export async function acceptedCount(ledger: Database): Promise<number> {
  const [row] = await ledger<{ count: number }[]>`
    select count(*)::int as count from sandbox_ledger where accepted and step = 'publish'`;
  return row!.count;
}

/** Posts that are called published, and those that the network has; a thread is one. */
export const outOf = ({ posts, ledger }: Pick<History, 'posts' | 'ledger'>) => ({
  published: posts.filter(({ state, rootId }) => state === 'PUBLISHED' && rootId === null).length,
  accepted: ledger.filter(({ accepted, step }) => accepted && step === 'publish').length,
});

interface Left {
  posts: number;
  followUps: number;
  series: number;
  facts: number;
  deliveries: number;
}
/**
 * What has not come to an end yet: posts that are due soon, what follows them, facts that were not heard, deliveries.
 * Nothing can be written by the way.
 */
async function unsettled(sql: Database): Promise<Left> {
  const [row] = await sql.begin(
    'read only',
    (tx) => tx<Left[]>`
      select (select count(*)::int
          from posts
          where state = 'QUEUE' and deleted_at is null and publish_date < now() + interval '1 hour') as posts,
        (select count(*)::int
          from post_follow_ups
          where kind in ('first_comment', 'post_plug') and due_at is not null) as "followUps",
        (select count(*)::int
          from posts
          where recurrence is not null and state = 'PUBLISHED' and repeated_at is null) as series,
        (select count(*)::int from outbox) as facts,
        (select count(*)::int from webhook_deliveries where state = 'pending') as deliveries`,
  );
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

/**
 * Waits until the network holds a request of each of these channels and has `moment` posts of others; where that takes
 * longer than `atMostMs`, as many as it has by then: it holds them no longer on a slow machine. Answers how many it
 * holds.
 */
export async function holdsAt(
  sql: Database,
  held: readonly Channel[],
  { moment, atMostMs }: { moment: number; atMostMs: number },
): Promise<number> {
  if (await comes(async () => (await publishingOf(sql, held)) === held.length, 120_000))
    await comes(async () => (await acceptedCount(sql)) >= moment, atMostMs);
  return publishingOf(sql, held);
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
