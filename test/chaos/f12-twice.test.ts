import { describe, expect, test } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Database } from '../../src/platform/db/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { isFull, note, rounds } from '../support/processes/chaos.ts';
import type { Edited } from '../support/processes/history/shape.ts';
import { violationsOf } from '../support/processes/history.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { engines, startEmbedded } from '../support/processes/service.ts';
import { startTwiceProxy, type TwiceProxy } from '../support/processes/twice-proxy.ts';
import { outOf, waveOf } from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { openWholeCrowd, settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome, limitTo, mixed } from '../support/processes/wave-mix.ts';
import { startPaymentProcessor } from '../support/peers/payment-processor.ts';
import { testDatabase } from '../support/wire/database.ts';
import { signUp } from '../support/worlds/app.ts';
import { WITH_BILLING } from '../support/worlds/billing.ts';

// F12: everything comes twice, of which only once can be promised: turns, reminders, messages of the bus, events of
// payments; and receivers answer 200 when nobody listens any more.

const POSTS = isFull ? 2_000 : 100;
const ORGS = 5;
/** So many posts a person moves, and deletes as many. */
const CHANGED = 10;
/** Requests to each receiver that it answers too late. */
const LATE = 2;
const DAY_MS = 86_400_000;
const LATENCY_MS = 50;
const CREATE_MS = 20;
const TWICE = fileURLToPath(new URL('../support/processes/scripts/twice-process.ts', import.meta.url));

describe.each(engines)('everything twice on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(4))(
    `round $round of $of: turns, reminders and messages come twice, receivers answer late: every post is out once, under one id for each receiver [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      const proxies: TwiceProxy[] = [];
      await using service = await start({
        database,
        env: { ...thirdParties.env, WEBHOOK_TIMEOUT_MS: '1000' },
        program: TWICE,
        between: {
          async app(port) {
            const proxy = await startTwiceProxy(port);
            proxies.push(proxy);
            return proxy;
          },
        },
      });
      await using crowd = await openWholeCrowd(service, database.sql, thirdParties, {
        orgs: ORGS,
        channels: POSTS / 10,
        answeredLate: LATE,
      });
      const from = systemClock.in(3_000 + POSTS * CREATE_MS);
      const wanted = mixed(waveOf(crowd.channels, POSTS, from, { latencyMs: LATENCY_MS }), crowd);
      const others = waveOf(crowd.channels.slice(0, 1), 2 * CHANGED, systemClock.in(DAY_MS), { latencyMs: LATENCY_MS });
      await limitTo(database.sql, crowd, [...wanted, ...others]);
      const posts = await crowd.post(wanted);
      // what people do comes twice as well
      const extra = await crowd.post(others);
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);
      const { client } = crowd.channels[0]!;
      const gone: Edited[] = [];
      for (const { postId } of extra.slice(CHANGED)) {
        await client.api(`/public/v1/posts/${postId}`, z.object({ id: z.literal(postId!) }), { method: 'DELETE' });
        gone.push({ postId: postId!, status: 200, answeredAt: systemClock.now(), isDeleted: true });
      }
      const moved = new Map<string, Date>();
      const first = Math.max(from.getTime() + 2_000, systemClock.in(1_000).getTime());
      for (const [n, { postId }] of extra.slice(0, CHANGED).entries()) {
        const date = new Date(first + n * 100);
        await client.own(`/posts/${postId}/date`, z.object({ id: z.literal(postId!) }), {
          method: 'PUT',
          body: { date: date.toISOString() },
        });
        moved.set(postId!, date);
      }

      thirdParties.begin(service.url);
      const tooMany = crowd.channels.map((channel) => ({ channel, due: from }));
      const [refused] = await Promise.all([
        crowd.post(tooMany),
        editSome(crowd, { now: posts, later: posts }),
        crowd.askForCanary(),
      ]);
      expect(refused.filter(({ status }) => status !== 402)).toEqual([]);
      const settledAfterMs = await settlesAlone(service, database.sql, crowd);
      await thirdParties.end();
      const repeats = proxies.map((proxy) => proxy.repeats);
      note({ round, engine: name, posts: crowd.created.length, settledAfterMs, repeats });
      if (name === 'dapr') expect(repeats.filter((n) => n === 0)).toEqual([]);
      else expect(service.lastWords(10_000)).toContain('This process repeats what it is asked.');

      const history = await crowd.history(database.sql);
      const created = history.created.map((one) => ({ ...one, due: moved.get(one.postId!) ?? one.due }));
      const edited = [...history.edited, ...gone];
      expect([violationsOf({ ...history, created, edited }), unjudgedIn(history)]).toEqual([[], []]);
      expect(outOf(history)).toEqual({ published: POSTS + CHANGED, accepted: POSTS + CHANGED });
      expect(history.posts.filter(({ deleted }) => deleted)).toHaveLength(CHANGED);

      const requests = Map.groupBy(history.received, ({ headers }) => String(headers['webhook-id']));
      for (const [id, list] of requests)
        expect([id, new Set(list.map(({ body }) => body.toString())).size]).toEqual([id, 1]);
      // what was answered too late was asked again
      expect(history.received.length - requests.size).toBeGreaterThanOrEqual(ORGS * LATE);
    },
    600_000,
  );
});

/** All that events of payments have left of an organization. */
async function leftOf(sql: Database, orgId: string) {
  const subscriptions = await sql`
    select tier, period, total_channels, pending_tier, is_trial, lapsed, grace_period_end, cancel_at
    from subscriptions
    where org_id = ${orgId}`;
  const events = await sql`
    select type, outcome, count(*)::int as n from payment_events where org_id = ${orgId} group by 1, 2 order by 1, 2`;
  const acts = await sql`select action from audit_log where org_id = ${orgId} and resource = 'billing' order by id`;
  return { subscriptions: [...subscriptions], events: [...events], acts: [...acts] };
}

test('events of payments that come twice at once, and once more later in another order, leave what they leave once', async () => {
  await using database = await testDatabase();
  const { sql } = database;
  await using processor = await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY });
  await using service = await startEmbedded({
    database,
    env: { ...WITH_BILLING, PAYMENTS_SERVER: processor.url },
    program: TWICE,
  });
  const paying = async () => {
    const person = await signUp(service.url, {});
    await sql`update organizations set allow_trial = false where id = ${person.orgId}`;
    const ordered = await person.client.post('/billing/subscribe', { billing: 'PRO', period: 'MONTHLY' });
    expect(ordered.status).toBe(200);
    return { ...person, page: String(ordered.body.url).split('/').at(-1)! };
  };
  const [ann, bob] = [await paying(), await paying()];
  const deliver = (event: (typeof processor.told)[number]) => processor.deliver(service.url, event);
  /** What is told of one act. */
  const toldOf = (act: () => void) => {
    const from = processor.told.length;
    act();
    return processor.told.slice(from);
  };

  const subscribed = new Map<string, string>();
  const acts: ((page: string) => void)[] = [
    (page) => void subscribed.set(page, processor.pay(page).id),
    (page) => processor.setCard(subscribed.get(page)!, false),
    (page) => void processor.renew(subscribed.get(page)!),
    (page) => processor.setCard(subscribed.get(page)!, true),
    (page) => void processor.collect(subscribed.get(page)!),
    (page) => void processor.renew(subscribed.get(page)!),
  ];
  const ofAnn: (typeof processor.told)[number][] = [];
  for (const act of acts) {
    for (const event of toldOf(() => act(ann.page))) {
      const answers = await Promise.all([deliver(event), deliver(event)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.filter(({ body }) => body['ignored'] === undefined)).toHaveLength(1);
      ofAnn.push(event);
    }
    for (const event of toldOf(() => act(bob.page))) expect((await deliver(event)).status).toBe(200);
  }
  for (const event of ofAnn.toReversed())
    expect(await deliver(event)).toEqual({ status: 200, body: { ok: true, ignored: true } });

  const once = await leftOf(sql, bob.orgId);
  expect(once.subscriptions).toMatchObject([{ tier: 'PRO', grace_period_end: null }]);
  expect(once.events.length).toBeGreaterThan(3);
  expect(await leftOf(sql, ann.orgId)).toEqual(once);
}, 120_000);
