import { expect, test } from '@jest/globals';
import { channelActor } from '../../../actors/channel/contract.ts';
import { organizationActor } from '../../../actors/organization/contract.ts';
import { tenantKey } from '../../../src/platform/kernel/index.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { startPaymentProcessor } from '../../support/peers/payment-processor.ts';
import { wholeProduct } from '../../support/worlds/product.ts';

test('a plan is bought, a post of an unpaid org waits, and it is published after the payment [S80, S220]', async () => {
  await using processor = await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY });
  await using product = await wholeProduct({ env: WITH_BILLING, sandbox: true, paymentsServer: processor.url });
  const { context, db } = product;
  let heard = 0;
  const deliverAll = async () => {
    for (; heard < processor.told.length; heard++)
      expect((await processor.deliver(product.address, processor.told[heard]!)).status).toBe(200);
    await context.payments.sweep(100);
  };

  const ann = await product.signUp();
  const { url } = (await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' })).body;
  const remote = processor.pay(url.split('/').at(-1)!);
  await deliverAll();
  expect((await ann.client.get('/billing/subscription')).body).toMatchObject({
    subscriptionTier: 'PRO',
    isTrial: true,
  });
  await ann.client.post('/billing/finish-trial');
  await deliverAll();

  const channel = (
    await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'acme' }, allowPreview: true })
  ).body;
  expect(channel).toMatchObject({ id: expect.any(String) });
  const program = await ann.withKey();
  const created = await program.post('/public/v1/posts', {
    type: 'schedule',
    date: new Date(new Date().getTime() + 86_400_000).toISOString(),
    shortLink: false,
    tags: [],
    posts: [{ integration: { id: channel.id }, value: [{ content: '<p>Hello</p>', image: [] }], settings: {} }],
  });
  expect(created.status).toBe(201);

  processor.setCard(remote.id, false);
  processor.renew(remote.id);
  await deliverAll();
  const reminded = () =>
    db.sql<{ due: Date }[]>`
      select due_at as due
      from actor_reminders
      where type = 'Organization' and id = ${ann.orgId} and name = 'transition'`;
  const [grace] = await db.sql<
    { due: Date }[]
  >`select grace_due_at as due from subscriptions where org_id = ${ann.orgId}`;
  expect((await reminded())[0]?.due).toEqual(grace!.due); // of the first notice
  await db.sql`
    update subscriptions
    set grace_period_end = now() + interval '200 ms', grace_due_at = now() + interval '200 ms'
    where org_id = ${ann.orgId}`;
  await context.actors(organizationActor, ann.orgId).scheduleTransition({});
  const lapsed = async () =>
    (await db.sql<{ lapsed: boolean }[]>`select lapsed from subscriptions where org_id = ${ann.orgId}`)[0]!.lapsed;
  // the sweep comes once a minute only
  await eventually('the grace period ends by the reminder of the Organization', lapsed);
  await eventually('nothing more is expected', async () => (await reminded()).length === 0);
  const post = async () =>
    (
      await db.sql<
        { state: string; detail: string | null }[]
      >`select state, detail from posts where org_id = ${ann.orgId}`
    )[0]!;
  // Its time comes while nothing is paid, and the channel is woken for it.
  await db.sql`
    update posts
    set publish_date = now() - interval '2 seconds', due_at = now() - interval '2 seconds'
    where org_id = ${ann.orgId}`;
  await context.actors(channelActor, tenantKey(ann.orgId, channel.id)).wake({});
  expect(await post()).toMatchObject({ state: 'QUEUE', detail: 'paused' });

  processor.setCard(remote.id, true);
  processor.collect(remote.id);
  await deliverAll();
  await eventually('the post is published', async () => (await post()).state === 'PUBLISHED');
  expect((await ann.client.get(`/sandbox/ledger?integrationId=${channel.id}`)).body.items).toHaveLength(1);
});

test('an org unpaid after its grace period is as one without a subscription: queued posts wait whatever happens to its channels, new ones publish within STARTER [S80, S217]', async () => {
  await using processor = await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY });
  await using product = await wholeProduct({ env: WITH_BILLING, sandbox: true, paymentsServer: processor.url });
  const { context, db } = product;
  let heard = 0;
  const deliverAll = async () => {
    for (; heard < processor.told.length; heard++)
      expect((await processor.deliver(product.address, processor.told[heard]!)).status).toBe(200);
    await context.payments.sweep(100);
  };
  const ann = await product.signUp();
  await db.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  const remote = processor.pay(
    (await ann.client.post('/billing/subscribe', { period: 'MONTHLY', billing: 'PRO' })).body.url.split('/').at(-1)!,
  );
  await deliverAll();
  const connect = async () =>
    (await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'acme' }, allowPreview: true }))
      .body;
  const channel = await connect();
  const create = (type: 'schedule' | 'draft' | 'now', inSeconds: number, content: string) =>
    ann.client.post('/posts', {
      type,
      date: new Date(new Date().getTime() + inSeconds * 1_000).toISOString(),
      shortLink: false,
      tags: [],
      posts: [
        {
          integration: { id: channel.id },
          value: [{ content: `<p>${content}</p>`, image: [] }],
          settings: { __type: 'sandbox' },
        },
      ],
    });
  const detailOf = async (content: string) =>
    (
      await db.sql<
        { detail: string | null; state: string }[]
      >`select state, detail from posts where org_id = ${ann.orgId} and content like ${`%${content}%`}`
    )[0]!;
  expect((await create('schedule', 86_400, 'before')).status).toBe(201);

  processor.setCard(remote.id, false);
  processor.renew(remote.id);
  await deliverAll();
  await db.sql`update subscriptions set grace_period_end = now(), grace_due_at = now() where org_id = ${ann.orgId}`;
  await context.payments.sweep(100);
  expect(await detailOf('before')).toEqual({ state: 'QUEUE', detail: 'paused' });
  expect((await ann.client.get('/billing')).body.limits.posts_per_month).toMatchObject({
    plan: 100,
    effective: 100,
    used: 1,
  });

  expect((await create('now', 0, 'meanwhile')).status).toBe(201);
  await eventually('what is made now goes out', async () => (await detailOf('meanwhile')).state === 'PUBLISHED');
  expect((await create('schedule', 86_400, 'later')).status).toBe(201);
  for (const path of ['/integrations/disable', '/integrations/enable'])
    expect((await ann.client.post(path, { id: channel.id })).status).toBeLessThan(300);
  expect(await connect()).toMatchObject({ id: channel.id });
  expect([await detailOf('before'), await detailOf('later')]).toEqual([
    { state: 'QUEUE', detail: 'paused' },
    { state: 'QUEUE', detail: 'scheduled' },
  ]);
  expect(
    new Set(
      (await Promise.all(Array.from({ length: 97 }, (_, n) => create('draft', 86_400, `draft ${n}`)))).map(
        ({ status }) => status,
      ),
    ),
  ).toEqual(new Set([201]));
  expect(await create('draft', 86_400, 'too many')).toMatchObject({
    status: 402,
    body: { limit: 'posts_per_month', max: 100 },
  });

  processor.setCard(remote.id, true);
  processor.collect(remote.id);
  await deliverAll();
  expect([await detailOf('before'), await detailOf('later')]).toEqual([
    { state: 'QUEUE', detail: 'scheduled' },
    { state: 'QUEUE', detail: 'scheduled' },
  ]);
  expect((await create('draft', 86_400, 'room again')).status).toBe(201);
});
