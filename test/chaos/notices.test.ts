import { afterAll, beforeAll } from '@jest/globals';
import { postPayload } from '../support/worlds/mail/notified.ts';
import { eventually } from '../support/wire/eventually.ts';
import { append, startListeners } from '../../src/platform/outbox/index.ts';
import { newId } from '../../src/platform/kernel/index.ts';
import type { CrashingHost } from '../support/worlds/crash/crashing.ts';
import { describeDeaths, type DyingTask } from '../support/worlds/crash/crash-deaths.ts';
import { type CrashWorld, crashWorld } from '../support/worlds/crash/crash-world.ts';

// Notices, numbers, comments, retention and erasure in a process that is killed at each place where its work waits: at
// each statement before it is sent and before its answer comes, and at each request of somebody else. Another process
// goes on with what is left. Left out: the other engine, as none of this work knows which one is under it.

let world: CrashWorld;
beforeAll(async () => void (world = await crashWorld()), 60_000);
afterAll(() => world?.[Symbol.asyncDispose]());

/** Longer than any of this takes: nobody looks twice. */
const REST_MS = 600_000;

const sweep = (host: CrashingHost, name: string, limit = 500) =>
  host.context.sweeps.find((one) => one.name === name)!.run(limit);

const TASKS: readonly DyingTask[] = [
  {
    name: 'notices of facts',
    async seed() {
      const seeded = await world.org();
      const { orgId, people } = seeded;
      const fact = (topic: 'post.published' | 'post.failed') => {
        const { url, ...payload } = postPayload(people[1]!.id, { content: '<p>Hi</p>' });
        const failure = { errorKind: 'rejected', error: 'No', detail: null, attempts: 1, retryable: false };
        return topic === 'post.published'
          ? { orgId, topic, entityId: newId(), payload: { ...payload, url } }
          : { orgId, topic, entityId: newId(), payload: { ...payload, ...failure } };
      };
      await append(world.db.sql, [fact('post.published'), fact('post.published'), fact('post.failed')]);
      await eventually('no transaction, of whatever database here, holds the facts back', async () => {
        const held = await world.db.sql`select from outbox where txid >= pg_snapshot_xmin(pg_current_snapshot())`;
        return held.length === 0;
      });
      return seeded;
    },
    async work(host, { orgId }) {
      const listener = host.context.listeners.find(({ name }) => name === 'notifications')!;
      const { sql, bus, clock } = host.context;
      const hearing = startListeners({
        sql,
        clock,
        bus,
        listeners: [listener],
        holder: newId(),
        log: { warn: () => undefined, error: () => undefined },
        lookMs: 5,
      });
      const isHeard = async () => (await world.db.sql`select from outbox where org_id = ${orgId}`).length === 0;
      await eventually('the facts are heard, or nobody is there', async () => host.isDead || (await isHeard()));
      if (!host.isDead) await hearing[Symbol.asyncDispose]();
    },
    state: (seeded) => world.noticesOf(seeded),
  },
  {
    name: 'digests and the end of quiet hours',
    async seed() {
      const seeded = await world.org();
      for (const { id } of seeded.people)
        for (const kind of ['digest', 'quiet-push']) {
          await world.db.sql`
            insert into notification_windows (user_id, kind, due_at) values (${id}, ${kind}, now() - interval '1 s')`;
          for (const title of ['One', 'Two'])
            await world.db.sql`
              insert into notification_lines (user_id, kind, org_id, category, title, content)
              values (${id}, ${kind}, ${seeded.orgId}, 'post_failed', ${title}, 'Why')`;
        }
      return seeded;
    },
    async work(host) {
      while ((await sweep(host, 'notification-windows', 2)) >= 2);
    },
    state: (seeded) => world.noticesOf(seeded),
  },
  {
    name: 'mails',
    async seed() {
      const seeded = await world.org();
      await world.host.context.email.queueAll(
        world.db.sql,
        seeded.people.map(({ email }) => ({
          to: email,
          orgId: null,
          content: { template: 'password-reset', data: { name: 'Ann', url: 'https://app.example.com/reset' } },
        })),
      );
      return seeded;
    },
    async work(host, { people }) {
      const sender = host.context.email.startSender({ restMs: REST_MS })!;
      const emails = people.map(({ email }) => email);
      const left = () =>
        world.db.sql`select from emails where to_address = any(${emails}::text[]) and status = 'queued'`;
      await eventually('the mails are out, or nobody is there', async () => host.isDead || (await left()).length === 0);
      if (!host.isDead) await sender[Symbol.asyncDispose]();
    },
    state: ({ people }) => world.mailsOf(people),
    arrived: ({ people }) =>
      people.map(({ email }) => new Set(world.mails.filter(({ to }) => to === email).map(({ id }) => id)).size),
  },
  {
    name: 'pushes',
    leastDeaths: 0.5, // the sender may be ended before it looks once more, which two of its eight places are
    async seed() {
      const seeded = await world.org();
      const pushes = seeded.people.map(({ id }) => ({
        userId: id,
        orgId: seeded.orgId,
        category: 'post_failed',
        title: 'A title',
        content: 'Why',
        link: null,
      }));
      await world.host.context.push.queueAll(world.db.sql, pushes);
      return seeded;
    },
    async work(host, { people }) {
      const sender = host.context.push.startSender({ restMs: REST_MS })!;
      const ids = people.map(({ id }) => id);
      const left = () => world.db.sql`
        select from pushes p join push_tokens t on t.id = p.token_id where t.user_id = any(${ids}::uuid[])`;
      await eventually(
        'the pushes are out, or nobody is there',
        async () => host.isDead || (await left()).length === 0,
      );
      if (!host.isDead) await sender[Symbol.asyncDispose]();
    },
    state: (seeded) => world.noticesOf(seeded),
    arrived: ({ people }) =>
      people.map(({ id }) => [...new Set(world.pushes.filter(({ to }) => to === id).map(({ text }) => text))]),
  },
  {
    name: 'the collection of numbers',
    async seed() {
      const seeded = await world.org({ channels: 2 });
      for (const channelId of seeded.channels) await world.post(seeded, channelId);
      await world.db.sql`
        insert into analytics_schedules (org_id, next_at, summary_at)
        values (${seeded.orgId}, now() - interval '1 s', now() + interval '1 year')`;
      return seeded;
    },
    async work({ context: { analytics } }) {
      await analytics.runCollections(50);
      while ((await analytics.collectDue(50)) > 0);
      await analytics.runCollections(50);
    },
    state: (seeded) => world.numbersOf(seeded),
  },
  {
    name: 'the roll-up to weeks',
    async seed() {
      const seeded = await world.org({ channels: 1 });
      await world.db.sql`
        insert into analytics_days (org_id, channel_id, metric, date, value)
        select ${seeded.orgId}::uuid, ${seeded.channels[0]!}::uuid, m, date '2025-01-06' + n, n + 1
        from generate_series(0, 13) n, unnest(array['views', 'followers']) m`;
      return seeded;
    },
    work: (host) => sweep(host, 'analytics-weeks'),
    state: (seeded) => world.numbersOf(seeded),
  },
  {
    name: 'the sweep of comments',
    async seed() {
      const seeded = await world.org({ channels: 1 });
      for (let n = 0; n < 2; n++) await world.post(seeded, seeded.channels[0]!, { comments: 2 });
      await world.sweepDue(seeded);
      return seeded;
    },
    work: (host) => sweep(host, 'comments'),
    state: (seeded) => world.commentsOf(seeded),
  },
  {
    name: 'a reply to a comment',
    async seed() {
      const seeded = await world.org({ channels: 1 });
      await world.post(seeded, seeded.channels[0]!, { comments: 1 });
      await world.sweepDue(seeded);
      await sweep(world.host, 'comments');
      return seeded;
    },
    /** Whoever asked and got no answer asks again where nothing is there. */
    async ask({ context }, { orgId }) {
      const rows = await world.db.sql<{ id: string; isReply: boolean }[]>`
        select id, is_own as "isReply" from social_comments where org_id = ${orgId} order by is_own`;
      if (rows.length === 1) await context.comments.replyToComment(orgId, rows[0]!.id, '<p>Thanks</p>');
    },
    async work(host, seeded) {
      const { followUps } = host.context;
      await this.ask!(host, seeded);
      const [post] = await world.db.sql<{ id: string }[]>`select id from posts where org_id = ${seeded.orgId}`;
      await followUps.runFollowUps(await followUps.claimFollowUps(seeded.orgId, post!.id));
    },
    state: (seeded) => world.commentsOf(seeded),
    arrived: ({ orgId }) => world.replies.filter((one) => one.orgId === orgId).length,
  },
  {
    name: 'retention',
    async seed() {
      const seeded = await world.org({ channels: 1 });
      await world.old(seeded);
      return seeded;
    },
    async work(host) {
      for (const name of ['notifications', 'emails', 'old-comments', 'analytics-posts', 'analytics-weeks'])
        while ((await sweep(host, name, 2)) >= 2);
    },
    state: async (seeded) => ({
      ...(await world.noticesOf(seeded)),
      ...(await world.commentsOf(seeded)),
      ...(await world.numbersOf(seeded)),
    }),
  },
  {
    name: 'the erasure of a person',
    async seed() {
      const seeded = await world.org({ channels: 1 });
      await world.old(seeded);
      return seeded;
    },
    work: ({ context: { erasure } }, { people: [, person], admin }) =>
      erasure.erase(
        { userId: admin, impersonatorId: null, ip: null },
        { kind: 'user', id: person!.id, reason: 'asked', dryRun: false },
      ),
    state: (seeded) => world.erasedOf(seeded),
  },
];

describeDeaths(() => world, TASKS);
