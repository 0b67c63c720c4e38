// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Answer, SignedUp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';

let product: Product;
beforeAll(async () => {
  product = await wholeProduct({
    sandbox: true,
    env: { ...WITH_BILLING, FRONTEND_URL: 'https://app.example/console' },
  });
  await product.signUp(); // the super-admin
}, 60_000);
afterAll(async () => product[Symbol.asyncDispose]());

const refusal = (limit: string, max: number) => ({
  statusCode: 402,
  error: 'Payment Required',
  message: `Plan limit reached: ${limit} (${max})`,
  msg: `Plan limit reached: ${limit} (${max})`,
  code: 'limit_exceeded',
  limit,
  max,
  url: 'https://app.example/console/billing',
});
const statuses = (answers: readonly Answer[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
const times = <T>(n: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, index) => act(index)));
const usage = async ({ orgId }: SignedUp) => (await product.context.billing.usage(orgId)).limits;
const owner = async (tier: 'STARTER' | 'PRO' | 'TEAM' | 'AGENCY' | null = 'STARTER'): Promise<SignedUp> => {
  const one = await product.signUp();
  if (tier) await subscribe(product.db.sql, one.orgId, { tier });
  return one;
};
const connect = ({ client }: SignedUp, name: string = newId()) =>
  client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true });
const draft = (channelId: string) => ({
  type: 'draft',
  shortLink: false,
  date: new Date(Date.now() + 86_400_000).toISOString(),
  tags: [],
  posts: [
    { integration: { id: channelId }, value: [{ content: '<p>Hi</p>', image: [] }], settings: { __type: 'sandbox' } },
  ],
});

describe('channels', () => {
  test('are connected up to the plan limit under concurrency; the 402 names the limit and links to billing [LM1, LM11, LM12, S5, ER2, ER3]', async () => {
    const ann = await owner();
    const answers = await times(40, () => connect(ann));
    expect(statuses(answers)).toEqual({ 200: 3, 402: 37 });
    for (const { status, body } of answers) if (status === 402) expect(body).toEqual(refusal('channel', 3));
    expect((await usage(ann)).channel).toEqual({ plan: 3, addons: 0, override: null, effective: 3, used: 3 });
    expect((await ann.client.get('/integrations/list')).body.integrations).toHaveLength(3);
  });

  test('release their place when disabled, deleted or in need of a login; returning takes a place again [LM12]', async () => {
    const ann = await owner();
    await override(product.db.sql, ann.orgId, { channel: 2 });
    const [a, b] = await Promise.all(['a', 'b'].map(async (name) => (await connect(ann, name)).body.id as string));
    const again = (id: string) => ann.client.post('/integrations/enable', { id });
    expect((await ann.client.post('/integrations/disable', { id: a })).status).toBeLessThan(300);
    const { body: c } = await connect(ann, 'c');
    const refused = await again(a!);
    expect([refused.status, refused.body]).toEqual([402, refusal('channel', 2)]);
    await ann.client.delete('/integrations', { id: b });
    expect((await again(a!)).status).toBeLessThan(300);
    expect((await connect(ann, 'd')).status).toBe(402);

    await product.context.channels.needsLogin(ann.orgId, c.id, 'The login was refused');
    expect((await usage(ann)).channel.used).toBe(1);
    expect((await connect(ann, 'd')).status).toBe(200);
    const back = await connect(ann, 'c');
    expect(back.status).toBe(402);
    expect(back.body).toEqual({
      ...refusal('channel', 2),
      message: 'Plan limit reached: channel (2). The login was kept, and the channel is disabled',
      msg: 'Plan limit reached: channel (2). The login was kept, and the channel is disabled',
    });
    const { integrations } = (await ann.client.get('/integrations/list')).body;
    expect(integrations.find(({ id }: { id: string }) => id === c.id)).toMatchObject({
      disabled: true,
      refreshNeeded: false,
    });
    expect((await usage(ann)).channel.used).toBe(2);
    await ann.client.post('/integrations/disable', { id: a });
    expect((await again(c.id)).status).toBeLessThan(300);
  });

  test('log in again at the limit if they already count, and beyond it after the limit has fallen', async () => {
    const ann = await owner();
    for (const name of ['a', 'b', 'c']) await connect(ann, name);
    expect((await connect(ann, 'b')).status).toBe(200);
    await override(product.db.sql, ann.orgId, { channel: 1 });
    expect((await connect(ann, 'b')).status).toBe(200);
    expect((await connect(ann, 'd')).body.max).toBe(1);
  });
});

describe('posts', () => {
  test('are created exactly up to the limit from 2,000 concurrent requests; a 402 stores nothing [LM11, S15, ER2, ER3]', async () => {
    const ann = await owner();
    await override(product.db.sql, ann.orgId, { posts_per_month: 333 });
    const { body: channel } = await connect(ann);
    const answers = await times(2_000, () => ann.client.post('/posts', draft(channel.id)));
    expect(statuses(answers)).toEqual({ 201: 333, 402: 1_667 });
    expect(answers.find(({ status }) => status === 402)!.body).toEqual(refusal('posts_per_month', 333));
    const [row] = await product.db.sql`select count(*)::int as n from posts where org_id = ${ann.orgId}`;
    expect(row).toEqual({ n: 333 });
    expect((await usage(ann)).posts_per_month).toEqual({
      plan: 100,
      addons: 0,
      override: 333,
      effective: 333,
      used: 333,
    });
  }, 180_000);

  test('are created once under the same key when room returns after a refusal [S18]', async () => {
    const ann = await owner('PRO');
    const program = await ann.withKey();
    const { body: channel } = await connect(ann);
    await override(product.db.sql, ann.orgId, { posts_per_month: 0 });
    const body = draft(channel.id);
    const create = (key: string) => program.post('/public/v1/posts', body, { 'idempotency-key': key });
    const refused = await create('one');
    expect([refused.status, refused.body]).toEqual([402, refusal('posts_per_month', 0)]);
    await override(product.db.sql, ann.orgId, { posts_per_month: 1 });
    const answers = await times(20, () => create('one'));
    expect(statuses(answers.filter(({ status }) => status !== 409))).toEqual({
      201: answers.filter(({ status }) => status !== 409).length,
    });
    expect((await create('one')).status).toBe(201);
    expect(new Set(answers.flatMap(({ status, text }) => (status === 201 ? [text] : []))).size).toBe(1);
    expect((await create('three')).status).toBe(402);
  });

  test('report faults of body and role before the limit [S15, ER1]', async () => {
    const ann = await owner();
    const { body: channel } = await connect(ann);
    await override(product.db.sql, ann.orgId, { posts_per_month: 0 });
    expect((await ann.client.post('/posts', draft(newId()))).status).toBe(400);
    await product.db.sql`update memberships set role_key = 'viewer' where org_id = ${ann.orgId}`;
    await settles(async () => expect((await ann.client.post('/posts', draft(channel.id))).status).toBe(403));
  });
});

describe('webhooks', () => {
  test('are created up to the limit under concurrency; deleting one frees its place [LM11, LM16]', async () => {
    const ann = await owner();
    await override(product.db.sql, ann.orgId, { webhooks: 7 });
    const make = () => ann.client.post('/webhooks', { name: 'a', url: 'http://127.0.0.1:9/', integrations: [] });
    const answers = await times(50, make);
    expect(statuses(answers)).toEqual({ 201: 7, 402: 43 });
    expect(answers.find(({ status }) => status === 402)!.body).toEqual(refusal('webhooks', 7));
    expect((await ann.client.delete(`/webhooks/${answers.find(({ status }) => status === 201)!.body.id}`)).status).toBe(
      200,
    );
    expect((await usage(ann)).webhooks.used).toBe(6);
    expect(statuses(await times(3, make))).toEqual({ 201: 1, 402: 2 });
  });

  test('are stored once when a call reaches the engine twice, even if the first took the last place', async () => {
    const ann = await owner();
    const { webhook } = await product.context.webhooks.prepare(ann.orgId, {
      name: 'a',
      url: 'http://127.0.0.1:9/',
      integrations: [],
    });
    for (let run = 0; run < 2; run++)
      expect(await product.context.webhooks.add(ann.orgId, webhook)).toEqual({ webhookId: webhook.id });
    expect((await usage(ann)).webhooks.used).toBe(1);
  });
});

describe('storage', () => {
  const picture = (width: number) =>
    sharp({
      create: { width, height: 8, channels: 3, background: '#345', noise: { type: 'gaussian', mean: 128, sigma: 30 } },
    })
      .png({ compressionLevel: 0 })
      .toBuffer();
  const upload = ({ client }: SignedUp, bytes: Uint8Array) => {
    const form = new FormData();
    form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'a.png');
    return client.post('/files/upload-server', form);
  };
  /** Leaves room for so many bytes: a file of the org takes the rest. */
  const leave = async ({ orgId }: SignedUp, gb: number, bytes: number) => {
    await override(product.db.sql, orgId, { storage_gb: gb });
    const row = {
      id: newId(),
      org_id: orgId,
      name: 'big',
      original_name: 'big',
      storage_key: newId(),
      kind: 'video',
      mime: 'video/mp4',
      bytes: gb * 1024 ** 3 - bytes,
    };
    await product.db.sql`insert into files ${product.db.sql(row)}`;
    return row.id;
  };

  test('is consumed by file bytes up to the limit under concurrency; a refused upload leaves nothing behind [LM11, LM19, LM20, S5]', async () => {
    const ann = await owner();
    const bytes = await picture(40);
    const big = await leave(ann, 2, bytes.length * 5 + 10);
    const answers = await times(16, () => upload(ann, bytes));
    expect(statuses(answers)).toEqual({ 201: 5, 402: 11 });
    expect(answers.find(({ status }) => status === 402)!.body).toEqual(refusal('storage_gb', 2));
    const [sum] = await product.db
      .sql`select sum(bytes)::float8 as bytes from files where org_id = ${ann.orgId} and deleted_at is null`;
    expect((await usage(ann)).storage_gb.used).toBe((sum!['bytes'] as number) / 1024 ** 3);
    expect((await ann.client.delete(`/files/${answers.find(({ status }) => status === 201)!.body.id}`)).status).toBe(
      200,
    );
    expect(statuses(await times(2, () => upload(ann, bytes)))).toEqual({ 201: 1, 402: 1 });
    expect((await ann.client.delete(`/files/${big}`)).status).toBe(200);
    expect((await upload(ann, bytes)).status).toBe(201);
  });

  test('is reserved by the announced size of open uploads until they are aborted or complete [LM11, LM20]', async () => {
    const ann = await owner();
    const bytes = await picture(40);
    await leave(ann, 2, bytes.length * 3 + 10);
    const begin = () =>
      ann.client.post('/files/create-multipart-upload', {
        file: { name: 'a.png', size: bytes.length, type: 'image/png' },
      });
    const answers = await times(8, begin);
    expect(statuses(answers)).toEqual({ 200: 3, 402: 5 });
    expect((await upload(ann, bytes)).status).toBe(402);
    const [first, second] = answers
      .filter(({ status }) => status === 200)
      .map(({ body }) => body as { uploadId: string; key: string });
    expect(
      (await ann.client.post('/files/abort-multipart-upload', { uploadId: first!.uploadId, key: first!.key })).status,
    ).toBe(200);
    expect(statuses(await times(2, () => upload(ann, bytes)))).toEqual({ 201: 1, 402: 1 });
    const { body: signed } = await ann.client.post('/files/sign-part', {
      uploadId: second!.uploadId,
      key: second!.key,
      partNumber: 1,
    });
    const part = await fetch(
      product.address + new URL(signed.url as string).pathname + new URL(signed.url as string).search,
      {
        method: 'PUT',
        body: bytes as Uint8Array<ArrayBuffer>,
      },
    );
    const done = {
      uploadId: second!.uploadId,
      key: second!.key,
      parts: [{ PartNumber: 1, ETag: part.headers.get('etag') }],
    };
    // its own announcement is not counted beside it
    expect((await ann.client.post('/files/complete-multipart-upload', done)).status).toBe(200);
    expect((await upload(ann, bytes)).status).toBe(402); // the third is still open
  });

  test('counts each file once; publishing copies and files in the own bucket of the organization do not count [LM19]', async () => {
    const { sql } = product.db;
    const ann = await owner();
    const bytes = await picture(10);
    const { body: file } = await upload(ann, bytes);
    const used = async () => (await usage(ann)).storage_gb.used * 1024 ** 3;
    expect(await used()).toBe(bytes.length);
    await sql`update files set name = 'other', alt = 'x', updated_at = now() where id = ${file.id}`;
    expect(await used()).toBe(bytes.length);
    const more = { org_id: ann.orgId, name: 'x', original_name: 'x', kind: 'image', mime: 'image/png', bytes: 1_000 };
    await sql`insert into files ${sql([
      {
        ...more,
        id: newId(),
        storage_key: newId(),
        source_url: 'https://elsewhere.example/a.png',
        storage_id: 'local',
        own_storage: false,
      },
      { ...more, id: newId(), storage_key: newId(), source_url: null, storage_id: 's3', own_storage: true },
    ])}`;
    expect(await used()).toBe(bytes.length);
    const shared = {
      ...more,
      id: newId(),
      storage_key: newId(),
      source_url: null,
      storage_id: 's3',
      own_storage: false,
    };
    await sql`insert into files ${sql(shared)}`; // in the storage of the instance
    expect(await used()).toBe(bytes.length + 1_000);
    await sql`delete from files where id = ${shared.id}`;
    await sql`update files set deleted_at = now() where id = ${file.id}`;
    await sql`update files set deleted_at = now() where id = ${file.id}`;
    expect(await used()).toBe(0);
    await sql`delete from files where id = ${file.id}`;
    expect(await used()).toBe(0);
  });

  test('in the own bucket of the organization takes files beyond the plan and counts nothing; the limit applies again without it [LM20, LM21]', async () => {
    const ann = await owner('PRO');
    await override(product.db.sql, ann.orgId, { storage_gb: 0 });
    const bytes = await picture(12);
    const brings = async () => [
      await upload(ann, bytes),
      await ann.client.post('/files/create-multipart-upload', {
        file: { name: 'a.mp4', type: 'video/mp4', size: 9_000_000 },
      }),
    ];
    for (const { status, body } of await brings()) expect([status, body]).toEqual([402, refusal('storage_gb', 0)]);

    await using bucket = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/xml', etag: '"1"' })
          .end('<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'),
    });
    const credentials = { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' };
    const options = { endpoint: bucket.url, region: 'us-east-1', bucket: 'own' };
    const made = await ann.client.post('/providers/settings', {
      domain: 'storage',
      providerId: 's3_compatible',
      credentials,
      options,
    });
    expect(made.status).toBe(201);
    const [whole, parts] = await brings();
    expect([whole!.status, parts!.status]).toEqual([201, 200]);
    expect((await usage(ann)).storage_gb).toMatchObject({ effective: 0, used: 0 });
    expect(await product.db.sql`select own_storage as own, bytes::int from files where org_id = ${ann.orgId}`).toEqual([
      { own: true, bytes: bytes.length },
    ]);

    expect((await ann.client.put(`/providers/settings/${made.body.id}`, { enabled: false })).status).toBe(200);
    for (const { status } of await brings()) expect(status).toBe(402);
  });
});

describe('seats', () => {
  const add = async ({ orgId }: SignedUp, disabled = false): Promise<SignedUp> => {
    const member = await product.signUp();
    await product.db.sql`
        insert into memberships (org_id, user_id, role_key, disabled)
        values (${orgId}, ${member.userId}, 'editor', ${disabled})`;
    return member;
  };

  test('are taken by enabled members: concurrent enabling succeeds only for free seats [LM11, LM14, S5]', async () => {
    const ann = await owner('PRO');
    const members = await times(8, () => add(ann, true));
    expect((await usage(ann)).team_members).toMatchObject({ effective: 3, used: 1 });
    const answers = await Promise.all(
      members.map(({ userId }) => ann.client.put(`/members/${userId}`, { role: 'editor', disabled: false })),
    );
    expect(statuses(answers)).toEqual({ 200: 2, 402: 6 });
    expect(answers.find(({ status }) => status === 402)!.body).toEqual(refusal('team_members', 3));
    expect((await usage(ann)).team_members.used).toBe(3);
    const seated = members[answers.findIndex(({ status }) => status === 200)]!;
    expect((await ann.client.put(`/members/${seated.userId}`, { role: 'editor', disabled: true })).status).toBe(200);
    const waiting = members[answers.findIndex(({ status }) => status === 402)]!;
    expect((await ann.client.put(`/members/${waiting.userId}`, { role: 'editor', disabled: false })).status).toBe(200);
  });
});

describe('the API', () => {
  test('needs a plan that includes it: STARTER creates no key; an existing key stops and resumes with the plan [LM6, S58]', async () => {
    const ann = await owner('PRO');
    const program = await ann.withKey();
    const ask = () => program.get('/public/v1/is-connected');
    expect((await ask()).status).toBe(200);
    await subscribe(product.db.sql, ann.orgId, { tier: 'STARTER' });
    const required = {
      statusCode: 402,
      code: 'plan_required',
      message: 'Your plan does not include the API',
      url: 'https://app.example/console/billing',
    };
    await settles(async () => expect((await ask()).body).toMatchObject(required));
    const { body: keys } = await ann.client.get('/user/api-keys');
    for (const path of ['/user/api-keys', `/user/api-keys/${keys[0].id}/rotate`]) {
      const { status, body } = await ann.client.post(path, { name: 'another' });
      expect([path, status, body]).toMatchObject([path, 402, required]);
    }
    expect((await ann.client.get('/user/api-keys')).body).toEqual(keys);
    await subscribe(product.db.sql, ann.orgId, { tier: 'TEAM' });
    await settles(async () => expect((await ask()).status).toBe(200));
  });

  test('answers 401 to the key of an org without active subscription while its members keep access [AU10, S12, S16, S58, S80, S217, T17]', async () => {
    const ann = await owner('PRO');
    const program = await ann.withKey();
    const ask = () => program.get('/public/v1/is-connected');
    await product.db.sql`delete from subscriptions where org_id = ${ann.orgId}`;
    await settles(async () => {
      const { status, body } = await ask();
      expect([status, body.msg, body.code]).toEqual([401, 'No subscription found', 'no_subscription']);
    });
    const left = async () => Number((await ask()).headers.get('x-ratelimit-remaining'));
    const before = await left();
    expect(before).toBeGreaterThan(0);
    expect(await left()).toBe(before - 1); // it counts as any other answer
    expect((await ann.client.get('/integrations/list')).status).toBe(200);
    await subscribe(product.db.sql, ann.orgId, { tier: 'PRO', graceEndsAt: new Date(Date.now() + 3_600_000) });
    await settles(async () => expect((await ask()).status).toBe(200));
    await product.db.sql`update subscriptions set grace_period_end = now() where org_id = ${ann.orgId}`;
    await settles(async () => expect((await ask()).body.code).toBe('no_subscription'));
    // the key is right: this is no guessing, and the address is not held to have failed
    for (let n = 0; n < 130; n++) await ask();
    await subscribe(product.db.sql, ann.orgId, { tier: 'PRO' });
    await settles(async () => expect((await ask()).status).toBe(200));
  });
});

test('answers a token of an app by the plan of its org, as a key: 402 without the API, 401 without an active subscription [S58, S217]', async () => {
  const ann = await owner('PRO');
  const { access } = await tokensFor(product, ann, await makeApp(ann));
  const ask = async () => {
    const { status, body } = await product
      .client()
      .get('/public/v1/is-connected', { authorization: `Bearer ${access}` });
    return `${status} ${body.code ?? ''}`;
  };
  expect(await ask()).toBe('200 ');
  await subscribe(product.db.sql, ann.orgId, { tier: 'STARTER' });
  await settles(async () => expect(await ask()).toBe('402 plan_required'));
  await subscribe(product.db.sql, ann.orgId, { tier: 'PRO', graceEndsAt: new Date(Date.now() - 1_000) });
  await settles(async () => expect(await ask()).toBe('401 no_subscription'));
  await product.db.sql`delete from subscriptions where org_id = ${ann.orgId}`;
  await product.db.sql`update users set is_super_admin = true where id = ${ann.userId}`; // passes roles, not billing
  await settles(async () => expect(await ask()).toBe('401 no_subscription'));
  await subscribe(product.db.sql, ann.orgId, { tier: 'PRO' });
  await settles(async () => expect(await ask()).toBe('200 '));
});

test('tells a console the current plan of the org [S42, S217]', async () => {
  const ann = await owner(null);
  const shown = async () => {
    const { tier, isLifetime, isTrialing, totalChannels, billingEnabled } = (await ann.client.get('/user/self')).body;
    return { tier, isLifetime, isTrialing, totalChannels, billingEnabled };
  };
  expect(await shown()).toEqual({
    tier: 'STARTER',
    isLifetime: false,
    isTrialing: false,
    totalChannels: 3,
    billingEnabled: true,
  });
  await subscribe(product.db.sql, ann.orgId, { tier: 'TEAM', packs: { extra_channels: 2 } });
  await product.db.sql`update subscriptions set is_trial = true where org_id = ${ann.orgId}`;
  expect(await shown()).toEqual({
    tier: 'TEAM',
    isLifetime: false,
    isTrialing: true,
    totalChannels: 40,
    billingEnabled: true,
  });
});

test('reads the usage of an org without waiting for concurrent counting [S62]', async () => {
  const ann = await owner('TEAM');
  await connect(ann);
  await product.db.sql.begin(async (tx) => {
    await product.context.billing.lockOrg(tx, ann.orgId);
    expect(await usage(ann)).toEqual({
      channel: { plan: 30, addons: 0, override: null, effective: 30, used: 1 },
      team_members: { plan: 10, addons: 0, override: null, effective: 10, used: 1 },
      posts_per_month: { plan: 1_000_000, addons: 0, override: null, effective: 1_000_000, used: 0 },
      brand_kits: { plan: 10, addons: 0, override: null, effective: 10, used: 0 },
      webhooks: { plan: 20, addons: 0, override: null, effective: 20, used: 0 },
      competitors: { plan: 20, addons: 0, override: null, effective: 20, used: 0 },
      storage_gb: { plan: 20, addons: 0, override: null, effective: 20, used: 0 },
      video_exports: { plan: 200, addons: 0, override: null, effective: 200, used: 0 },
    });
  });
});
