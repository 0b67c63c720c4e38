import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { dueReminder } from '../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../actors/host/start.ts';
import { openContext } from '../../../src/context.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { ProviderError } from '../../../src/platform/kernel/index.ts';
import { append, type NewFact } from '../../../src/platform/outbox/index.ts';
import { social } from '../../../src/providers/social/_contract.ts';
import { startSmtp, readMail } from '../../support/peers/smtp.ts';
import { startInternet } from '../../support/wire/outside.ts';
import { type SubscribedBrowser, subscribedBrowser, vapidSettings } from '../../support/wire/push-service.ts';
import { virtualClock, type VirtualDatabase } from '../../support/wire/virtual-time.ts';
import { watchedDatabase } from '../../support/wire/database/watched-database.ts';
import { JWT_SECRET } from '../../support/worlds/app.ts';
import { postPayload } from '../../support/worlds/mail/notified.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { addWebhook } from '../../support/worlds/publishing/webhooks.ts';
import { type Cast, type Channel, type Comment, type Counts, DAY, type Happening, MINUTE, type Post } from './cast.ts';
import { dateText, dayOf } from './clocks.ts';
import { bodyOf, contentOf, type Hook, KEPT, type Said } from './model.ts';
import type { Mail, Push } from './notices.ts';
import type { Told } from './numbers.ts';
import { seed } from './seed.ts';

/** Sweeps and listeners of what the year is about; the others would only cost time. */
const SWEEPS = new Set([
  'analytics-schedules',
  'analytics-runs',
  'analytics-weeks',
  'analytics-posts',
  'analytics-summaries',
  'comments',
  'old-comments',
  'notification-windows',
  'notifications',
  'emails',
  'streak-reminders',
]);
const LISTENERS = new Set(['notifications', 'webhooks', 'streaks']);
const PUSH_HOST = 'push.example.com';
const HOOK_HOST = 'hook.example.com';
const VAPID = vapidSettings();
/** Sweeps and collectors sleep so long; what they write is heard by whoever sleeps less. */
const LONG_SLEEP_MS = 30_000;
/** Looks at the loops without a change until all of them are taken to rest. */
const REST_TURNS = 100;
const TURNS = 8;
/** Hours pass between two heartbeats, and networks are away for a night. */
const EXPECTED = /^no host was there for a while/;

export interface YearWorld extends AsyncDisposable {
  readonly sql: Database;
  readonly recorded: {
    mails: Mail[];
    pushes: Push[];
    hooks: Hook[];
    /** The number of questions that each network was asked about a channel, by day. */
    asked: Map<string, number>;
  };
  /** Lets it be `at`, and everything that is due be done; answers what networks said meanwhile. */
  reach(at: number): Promise<{ said: Said[]; told: Told[] }>;
  happen(happenings: readonly Happening[]): Promise<void>;
  /** Lines of the log that somebody should read. */
  troubles(): string[];
}

/** The product with its actors, sweeps, listeners and workers in one process, whose time the test moves. */
export async function openYear(db: VirtualDatabase, cast: Cast, counts: Counts, start: number): Promise<YearWorld> {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-year-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const time = virtualClock(start);
  let at = start;
  const recorded: YearWorld['recorded'] = { mails: [], pushes: [], hooks: [], asked: new Map() };
  const heard = { said: [] as Said[], told: [] as Told[] };
  const posts = new Map<string, Post>();
  const below = new Map<string, Comment[]>();
  const browsers = new Map<string, { personId: string; browser: SubscribedBrowser }>();

  const smtp = opened.use(await startSmtp({ onMail: ({ to, raw }) => void recorded.mails.push(mailOf(at, to, raw)) }));
  const internet = opened.use(
    await startInternet([PUSH_HOST, HOOK_HOST], (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => void pieces.push(piece));
      request.on('end', () => {
        const body = Buffer.concat(pieces);
        if (request.headers.host === HOOK_HOST)
          recorded.hooks.push({ at, orgId: request.url!.slice(1), what: whatOf(body) });
        else {
          const { personId, browser } = browsers.get(request.url!.slice(1))!;
          const { title, body: content } = JSON.parse(browser.read(body)) as { title: string; body: string };
          recorded.pushes.push({ at, to: personId, title, bodies: [content] });
        }
        response.writeHead(request.headers.host === HOOK_HOST ? 200 : 201).end();
      });
    }),
  );
  const { config } = readConfig({
    JWT_SECRET,
    BACKEND_LISTEN_HOST: '127.0.0.1',
    DATA_FOLDER: folder,
    SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
    EMAIL_PROVIDER: 'smtp',
    EMAIL_SMTP_HOST: '127.0.0.1',
    EMAIL_SMTP_PORT: String(smtp.port),
    EMAIL_SMTP_SECURE: 'none',
    EMAIL_FROM_ADDRESS: 'no-reply@example.com',
    ...VAPID,
    COMMENTS_SWEEP_INTERVAL_MINUTES: '1440',
    NOTIFICATIONS_RETENTION_DAYS: String(KEPT.notifications),
    EMAIL_LOG_RETENTION_DAYS: String(KEPT.emails),
    ANALYTICS_DAILY_RETENTION_DAYS: String(KEPT.days),
    ANALYTICS_POST_RETENTION_DAYS: String(KEPT.posts),
    SOCIAL_COMMENT_RETENTION_DAYS: String(KEPT.comments),
  });
  const log = quietLog();
  const watched = watchedDatabase(db.url, { connections: 4 });
  opened.defer(() => watched.sql.end({ timeout: 1 }));
  const context = opened.use(
    await openContext(config, {
      logs: { of: () => log },
      actorTypes,
      channelReminder: dueReminder,
      sandboxUrl: undefined,
      sql: watched.sql,
      clock: time.clock,
      network: internet.network,
      adapters: ['counts', 'words', 'plain'].map((network) => adapterOf(network as Channel['network'])),
    }),
  );
  await seed(db.sql, cast, (person) => {
    const browser = subscribedBrowser(`https://${PUSH_HOST}/${person.id}`);
    browsers.set(person.id, { personId: person.id, browser });
    return browser.token;
  });
  for (const { id, isHooked } of cast.orgs)
    if (isHooked) await addWebhook(context.webhooks, id, `https://${HOOK_HOST}/${id}`);
  opened.use(
    await startActors(
      {
        ...context,
        sweeps: context.sweeps.filter(({ name }) => SWEEPS.has(name)),
        listeners: context.listeners.filter(({ name }) => LISTENERS.has(name)),
        workers: [() => context.email.startSender(), () => context.push.startSender(), () => context.analytics.start()],
      },
      { reconcileMs: 1_000 * DAY },
    ),
  );

  function adapterOf(network: Channel['network']) {
    return social({
      id: network,
      version: 'v1',
      title: network,
      description: 'A network of the year.',
      status: 'active',
      authType: 'none',
      credentials: { server: { label: 'Server', required: false, secret: false } },
      api: `https://${network}.example`,
      login: { kind: 'credentials' },
      limits: { text: 1_000, unit: 'characters', media: 4, mediaTypes: ['image/*'] },
      settings: z.looseObject({}),
      once: 'at-most-once',
      profile: () => Promise.reject(new ProviderError('reauthorize', 'Nobody logs in')),
      publish: () => Promise.reject(new ProviderError('rejected', 'Nothing is published')),
      ...(network === 'counts' && {
        metricsAtOnce: 100,
        channelMetrics: async ({ account }: { account: string }) => tellDays(account),
        metrics: async ({ account, posts: of }: { account: string; posts: readonly { id: string }[] }) =>
          tellLikes(account, of),
      }),
      ...(network === 'words' && {
        comments: async ({ account, published }: { account: string; published: { id: string } }) =>
          sayBelow(account, published.id),
      }),
    } as never); // the line of a channel is wider
  }
  const lastDay = () => dateText(dayOf(time.now) - DAY);
  const note = (what: string) => recorded.asked.set(what, (recorded.asked.get(what) ?? 0) + 1);
  function tellDays(channelId: string) {
    const day = lastDay();
    note(`days ${channelId} ${day}`);
    if (recorded.asked.get(`days ${channelId} ${day}`)! <= counts.failures(channelId, day)) {
      heard.told.push({ kind: 'away', channelId });
      throw new ProviderError('unavailable', 'The network is away');
    }
    const dates = Array.from({ length: 7 }, (_, n) => dateText(Date.parse(day) - n * DAY));
    const views = new Map(dates.map((date) => [date, counts.views(channelId, date, day)]));
    const followers = counts.followers(channelId, day);
    heard.told.push({ kind: 'days', channelId, views, followers });
    return [
      { metric: 'views', points: [...views].map(([date, value]) => ({ date, value })) },
      { metric: 'followers', points: [{ date: dateText(dayOf(time.now)), value: followers }] },
    ];
  }
  function tellLikes(channelId: string, of: readonly { id: string }[]) {
    const likes = new Map(of.map(({ id }) => [id.slice(2), counts.likes(posts.get(id.slice(2))!, time.now)]));
    heard.told.push({ kind: 'likes', channelId, likes });
    return [...likes].map(([id, value]) => ({ id: `r-${id}`, counts: { likes: value } }));
  }
  function sayBelow(channelId: string, release: string) {
    const postId = release.slice(2);
    const comments = [...(below.get(postId) ?? [])];
    note(`words ${postId} ${dateText(dayOf(time.now))}`);
    heard.said.push({ channelId, postId, comments });
    return {
      comments: comments.map((comment) => ({
        id: comment.id,
        text: comment.text,
        author: { id: comment.author, name: comment.author },
        createdAt: new Date(comment.at),
      })),
    };
  }

  /** Nothing goes on by itself: no statement is under way, and every loop sleeps. */
  async function settle(): Promise<void> {
    const end = performance.now() + 30_000;
    for (let turns = 0; turns < TURNS; turns++) {
      await new Promise<void>((over) => void setImmediate(over));
      if (watched.pending === 0 && time.asleep >= loops) continue;
      turns = -1;
      await (watched.pending > 0 ? watched.idle() : new Promise((over) => setTimeout(over, 1)));
      if (performance.now() > end)
        throw new Error(`Something goes on and on: ${watched.pending} statements, ${time.asleep} of ${loops} asleep`);
    }
  }
  async function pass(ms: number): Promise<void> {
    time.moveTo(time.now + ms);
    await db.setTime(time.now);
    time.wake();
  }
  /** Until nothing that is due is left. */
  async function finish(): Promise<void> {
    for (let waits = 0; ;) {
      await settle();
      const left = await leftIn(db.sql);
      if (left.isHeld) await new Promise((over) => setTimeout(over, 5));
      // a call under way would be over its time if that went on, however soon its answer comes
      else if (left.due && !left.isAsked) await pass(left.soon ? 1_000 : LONG_SLEEP_MS);
      else if (left.due || left.underWay) {
        if (++waits > 5_000) throw new Error(`What is under way does not end: ${JSON.stringify(left)}`);
        await new Promise((over) => setTimeout(over, 1));
      } else return;
      if (time.now - at > 4 * MINUTE) throw new Error(`What is due is not done: ${JSON.stringify(left)}`);
    }
  }

  let loops = 0;
  // every loop has begun to rest, however slow the machine is: none was added for a while
  for (let same = 0; same < REST_TURNS; same++) {
    await new Promise((over) => setTimeout(over, 10));
    if (watched.pending === 0 && time.asleep === loops) continue;
    [same, loops] = [0, time.asleep];
  }
  const running = opened.move();
  return {
    sql: db.sql,
    recorded,
    troubles: () =>
      log.lines
        .filter(({ level, message }) => level !== 'info' && !EXPECTED.test(message))
        .map((line) => inspect(line)),
    async reach(to) {
      at = to;
      heard.said = [];
      heard.told = [];
      time.moveTo(to);
      await db.setTime(to);
      time.wake(LONG_SLEEP_MS);
      await settle();
      time.wake();
      await finish();
      return { ...heard };
    },
    async happen(happenings) {
      const facts: NewFact[] = [];
      const out: Post[] = [];
      for (const one of happenings)
        if (one.kind === 'post') {
          posts.set(one.post.id, one.post);
          out.push(one.post);
          facts.push(factOf(one.post, 'post.published'));
        } else if (one.kind === 'failed') facts.push(factOf(one.post, 'post.failed'));
        else if (one.kind === 'comments') below.set(one.post.id, [...(below.get(one.post.id) ?? []), ...one.comments]);
      await db.sql.begin(async (tx) => {
        for (const { id, channel, maker } of out)
          await tx`
            insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, published_at, release_id,
              release_url, created_by)
            values (${id}, ${channel.org.id}, ${channel.id}, ${id}, 'PUBLISHED', ${`Post ${id}`}, now(), now(),
              ${`r-${id}`}, ${`https://${channel.network}.example/${id}`}, ${maker.id})`;
        if (facts.length > 0) await append(tx, facts);
      });
      await finish();
      for (const one of happenings) {
        if (one.kind === 'wishes')
          await db.sql`
            update user_profiles
            set notification_preferences = ${JSON.stringify(one.wishes)}::text::jsonb
            where user_id = ${one.person.id}`;
        if (one.kind !== 'broadcast') continue;
        const { org, title, channels } = one;
        await context.notifications.broadcast(org.id, { title, content: 'Read it', target: { type: 'all' }, channels });
      }
      await finish();
    },
    async [Symbol.asyncDispose]() {
      // what waits for a time that never comes is not waited for
      const ending = running.disposeAsync();
      const woken = setInterval(() => {
        time.moveTo(time.now + MINUTE);
        time.wake();
      }, 10);
      await ending.finally(() => clearInterval(woken));
    },
  };
}

const factOf = (post: Post, topic: 'post.published' | 'post.failed'): NewFact => {
  const { id, channel, maker } = post;
  const { url, ...payload } = postPayload(maker.id, {
    channelId: channel.id,
    channelName: channel.name,
    providerId: channel.network,
    content: `<p>Post ${id}</p>`,
    url: contentOf(post).split('\n')[1]!,
  });
  const entity = { orgId: channel.org.id, entityId: id };
  return topic === 'post.published'
    ? { ...entity, topic, payload: { ...payload, url } }
    : {
        ...entity,
        topic,
        payload: { ...payload, errorKind: 'rejected', error: 'Refused', detail: null, attempts: 1, retryable: false },
      };
};

/** A mail with the titles that it tells, in order of their letters. */
function mailOf(at: number, to: string, raw: string): Mail {
  const { headers, text } = readMail(raw);
  const subject = headers['subject']!;
  // a list below the name of an organization, or one alone with what it says
  const titles = [...text.matchAll(/^(?:- (.*)|-+\n\n(?!- )(.*))$/gm)].map(([, listed, single]) => (listed ?? single)!);
  return { at, to, subject, titles: titles.toSorted() };
}
function whatOf(body: Buffer): string {
  const { event, ...told } = JSON.parse(body.toString()) as Record<string, never> & { event: string };
  const { data, content, batchSize, anomalies } = told as Record<string, never>;
  if (event === 'post.published') return `${event} ${(data as unknown as { postId: string }).postId}`;
  if (event === 'comment.new') return `${event} ${String(content ?? batchSize)}`;
  return anomalies ? `${event} ${(anomalies as unknown as Parameters<typeof bodyOf>[0][]).map(bodyOf).join()}` : event;
}

/** What is due by now and not done: soon, or when collectors look again; and what somebody has begun. */
async function leftIn(sql: Database) {
  const [left] = await sql<{ isHeld: boolean; soon: boolean; late: boolean; isAsked: boolean; underWay: boolean }[]>`
    select
      -- facts behind a transaction that is still open, in whatever database of the server: listeners wait for its end
      exists (select from outbox where txid >= pg_snapshot_xmin(pg_current_snapshot())) as "isHeld",
      exists (select from outbox)
        or exists (select from emails where status = 'queued' and attempts = 0)
        or exists (select from pushes where attempts = 0) as soon,
      exists (select from analytics_collections where due_at <= now()) as late,
      exists (select from analytics_collections where claim is not null)
        -- the last channel was read, after a rest that no clock of the test knows of, and the run is being completed
        or exists (
          select from analytics_runs r
          where r.completed_at is null and r.day = (now() at time zone 'UTC')::date - 1
            and not exists (select from analytics_collections k where k.org_id = r.org_id and k.day = r.day))
        or exists (select from comment_sweeps where claim is not null) as "isAsked",
      exists (select from emails where status = 'queued')
        or exists (select from pushes)
        or exists (select from webhook_deliveries where state = 'pending')
        or exists (select from notification_windows where due_at <= now()) as "underWay"`;
  return { ...left!, due: left!.soon || left!.late, underWay: left!.underWay || left!.isAsked };
}
