import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { settles } from '../../support/wire/settles.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Plugs and first comments as clients ask for them, with the sandbox network behind.

let product: Product;
let ann: SignedUp;
let ben: SignedUp;
let key: Client;
let channel: string;
let second: string;
let foreign: string;
const connect = async (who: SignedUp, name: string) =>
  (await who.client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true })).body.id;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true });
  await product.signUp();
  [ann, ben] = [await product.signUp(), await product.signUp()];
  key = await ann.withKey();
  [channel, second, foreign] = [await connect(ann, 'Ann'), await connect(ann, 'Second'), await connect(ben, 'Ben')];
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const REPOST = 'sandbox-repost-from';
const COMMENT = 'sandbox-auto-comment';
const bodyOf = (settings: object, type = 'now') => ({
  type,
  date: new Date().toISOString(),
  posts: [{ integration: { id: channel }, value: [{ content: 'Hello' }], settings }],
});
const repostBy = (...ids: unknown[]) => ({
  [`plug--${REPOST}--active`]: true,
  [`plug--${REPOST}--integrations`]: ids.map((id) => ({ id })),
});
const count = async (table: string) =>
  (await product.db.sql`select count(*)::int as n from ${product.db.sql(table)}`)[0]!['n'] as number;
const fields = [
  { name: 'likesAmount', value: '2' },
  { name: 'post', value: 'Thank you' },
];

test('a post brings its first comment and its plugs to the network, whose ledger tells them [S243, S99, PO5, PO6, PL6]', async () => {
  const answer = await key.post('/public/v1/posts', bodyOf({ firstComment: 'First!', ...repostBy(second) }));
  expect(answer.status).toBe(201);
  const id = answer.body[0].postId as string;
  const shown = async () => (await ann.client.get(`/posts/${id}`)).body;
  await settles(async () =>
    expect(await shown()).toMatchObject({
      state: 'PUBLISHED',
      settings: { firstComment: 'First!' },
      firstComment: { state: 'posted', error: null },
      firstCommentPostedAt: expect.any(String),
    }),
  );
  const ledgerOf = async (integrationId: string) =>
    (await ann.client.get(`/sandbox/ledger?integrationId=${integrationId}`)).body.items.map(
      ({ step, text, accepted }: { step: string; text: string; accepted: boolean }) => [step, text, accepted],
    );
  expect(await ledgerOf(channel)).toEqual([
    ['publish', 'Hello', true],
    ['comment', 'First!', true],
  ]);
  await settles(async () => expect(await ledgerOf(second)).toEqual([['repost', '', true]]));
  await settles(async () => {
    const kinds = (await ann.client.get(`/posts/${id}/timeline`)).body.items.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['published', 'first_comment', 'plug']));
  });
  expect((await key.get(`/public/v1/posts/${id}`)).body).toMatchObject({ firstComment: { state: 'posted' } });
});

test('a post that waits shows its first comment as pending [S99]', async () => {
  const { body } = await key.post('/public/v1/posts', bodyOf({ firstComment: 'Later' }, 'draft'));
  expect((await ann.client.get(`/posts/${body[0].postId}`)).body).toMatchObject({
    firstComment: { state: 'pending', error: null },
    firstCommentPostedAt: null,
  });
});

describe('settings that ask for what cannot follow', () => {
  const long = 'x'.repeat(10_001);
  test.each<[string, object]>([
    ['firstComment', { firstComment: long }],
    ['firstComment', { firstComment: 7 }],
    ['firstComment', { firstComment: ['x'] }],
    ['firstComment', { firstComment: '<p></p>' }],
    ['plug--nothing--active', { 'plug--nothing--active': true }],
    ['plug--sandbox-auto-comment--active', { 'plug--sandbox-auto-comment--active': true }],
    [`plug--${REPOST}--integrations`, { [`plug--${REPOST}--active`]: true }],
    [`plug--${REPOST}--integrations`, repostBy()],
    [`plug--${REPOST}--integrations`, { ...repostBy(), [`plug--${REPOST}--integrations`]: 'x' }],
    [`plug--${REPOST}--integrations`, repostBy(...Array.from({ length: 101 }, newId))],
    [`plug--${REPOST}--integrations.0.id`, repostBy(newId())],
    [`plug--${REPOST}--integrations.0.id`, repostBy('x')],
    [`plug--${REPOST}--integrations.0.id`, repostBy({ deep: 1 })],
    [`plug--${REPOST}--active`, { ...repostBy(newId()), [`plug--${REPOST}--active`]: 'yes' }],
    [`plug--${REPOST}--integrations`, { [`plug--${REPOST}--integrations`]: [{ id: 'x' }] }],
  ])(
    '%s is refused with its path, in every way of storing a post, and nothing is stored [S145, PL5, PL6]',
    async (name, settings) => {
      const before = await count('posts');
      const answers = [
        await key.post('/public/v1/posts', bodyOf(settings)),
        await ann.client.post('/posts', bodyOf(settings, 'schedule')),
      ];
      for (const { status, body } of answers)
        expect({ status, field: body.errors?.[0]?.field }).toEqual({ status: 400, field: `posts.0.settings.${name}` });
      expect(await count('posts')).toBe(before);
    },
  );

  test('a channel of another organization is refused, and of another network [PL6, S145]', async () => {
    const other = newId();
    await product.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${other}, ${ann.orgId}, 'devto', 'v1', 'x', 'Articles', 'v2:')`;
    for (const id of [foreign, other]) {
      const { status, body } = await key.post('/public/v1/posts', bodyOf(repostBy(second, id)));
      expect({ status, field: body.errors[0].field }).toEqual({
        status: 400,
        field: `posts.0.settings.plug--${REPOST}--integrations.1.id`,
      });
    }
  });

  test('an edit is judged as a create is, with what is stored already [S145, PL12]', async () => {
    const draft = (await key.post('/public/v1/posts', bodyOf({ ...repostBy(second), firstComment: 'a' }, 'draft')))
      .body[0];
    const edit = (method: string, settings: object) => ann.client.send(method, `/posts/${draft.postId}`, { settings });
    for (const method of ['PUT', 'PATCH'])
      expect((await edit(method, repostBy(newId()))).body).toMatchObject({
        statusCode: 400,
        errors: [{ field: `settings.plug--${REPOST}--integrations.0.id` }],
      });
    expect((await edit('PATCH', { firstComment: 8 })).body.errors[0].field).toBe('settings.firstComment');
    expect((await edit('PATCH', { firstComment: 'b' })).body.settings).toMatchObject({
      firstComment: 'b',
      ...repostBy(second),
    });
    expect((await edit('PUT', {})).body).toMatchObject({ firstComment: { state: 'none' } });
  });

  test('preflight tells the same faults, and of a first comment that its network would leave out [S116, PO7]', async () => {
    const listmonk = newId();
    await product.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${listmonk}, ${ann.orgId}, 'listmonk', 'v1', 'x', 'Letters',
        ${product.context.vault.seal('{"values":{}}')})`;
    const preflight = async (settings: object, id = channel) => {
      const sent = bodyOf(settings, 'schedule');
      const posts = sent.posts.map((post) => ({ ...post, integration: { id } }));
      return (await ann.client.post('/posts/preflight', { ...sent, posts })).body[0];
    };
    const tooLong = await preflight({ firstComment: long });
    expect(tooLong).toMatchObject({
      valid: false,
      tooLong: false,
      issues: [{ field: 'posts.0.settings.firstComment' }],
    });
    const unknown = await preflight({ 'plug--nothing--active': true });
    expect(unknown).toMatchObject({ valid: false, issues: [{ field: 'posts.0.settings.plug--nothing--active' }] });
    const fine = await preflight({ firstComment: 'a', ...repostBy(second) });
    expect(fine).toMatchObject({ valid: true, issues: [] });
    const ignored = await preflight({ firstComment: 'a' }, listmonk);
    expect(ignored.warnings.map(({ code }: { code: string }) => code)).toContain('first_comment_ignored');
  });

  test('a draft is held against the limits of comments when it is scheduled [PO6]', async () => {
    const draft = (await key.post('/public/v1/posts', bodyOf({ firstComment: long }, 'draft'))).body[0];
    const { status, body } = await ann.client.put(`/posts/${draft.postId}/status`, { status: 'schedule' });
    expect({ status, field: body.errors[0].field }).toEqual({ status: 400, field: 'settings.firstComment' });
  });
});

describe('plugs of networks and channels', () => {
  test('are listed with all that a form needs [PL1, PL2, PL5, PL7, PL14, PL18, S142]', async () => {
    const { plugs } = (await ann.client.get('/integrations/plug/list')).body;
    const sandbox = plugs.find(({ identifier }: { identifier: string }) => identifier === 'sandbox');
    expect(sandbox).toEqual({
      name: 'Sandbox',
      identifier: 'sandbox',
      plugs: [
        {
          identifier: COMMENT,
          methodName: COMMENT,
          title: expect.any(String),
          description: expect.any(String),
          runEveryMilliseconds: 60_000,
          totalRuns: 60,
          disabled: false,
          fields: [
            expect.objectContaining({ name: 'likesAmount', type: 'number', validation: '^\\d{1,9}$' }),
            expect.objectContaining({ name: 'post', type: 'text', placeholder: expect.any(String) }),
          ],
        },
      ],
    });
    const identifiers = plugs.flatMap((network: { plugs: { identifier: string }[] }) =>
      network.plugs.map(({ identifier }) => identifier),
    );
    expect(new Set(identifiers).size).toBe(identifiers.length);
    expect((await ann.client.get('/integrations/sandbox/internal-plugs')).body).toEqual({
      internalPlugs: [
        expect.objectContaining({ identifier: REPOST, methodName: REPOST, pickIntegration: ['sandbox'], fields: [] }),
      ],
    });
    expect((await ann.client.get('/integrations/nowhere/internal-plugs')).status).toBe(404);
  });

  test('are saved once for each channel, shown, and turned off and on [PL9, PL15, PL16, PL17, S143, S144]', async () => {
    const saved = await ann.client.post(`/integrations/${channel}/plugs`, { func: COMMENT, fields });
    expect(saved.status).toBe(201);
    const { id } = saved.body;
    expect(saved.body).toEqual({ id, plugFunction: COMMENT, integrationId: channel, activated: true });
    const newer = [{ name: 'post', value: 'Thanks' }, fields[0]!];
    expect((await ann.client.post(`/integrations/${channel}/plugs`, { func: COMMENT, fields: newer })).body.id).toBe(
      id,
    );
    const stored = [fields[0], newer[0]];
    expect((await ann.client.get(`/integrations/${channel}/plugs`)).body).toEqual([
      {
        id,
        plugFunction: COMMENT,
        integrationId: channel,
        data: JSON.stringify(stored),
        fields: stored,
        activated: true,
        runs: 0,
        lastRunAt: null,
      },
    ]);
    const turn = (status: unknown, of: string = id) => ann.client.put(`/integrations/plugs/${of}/activate`, { status });
    expect((await turn(false)).body).toEqual({ id, activated: false });
    expect((await ann.client.get(`/integrations/${channel}/plugs`)).body[0].activated).toBe(false);
    expect((await turn(true)).body).toEqual({ id, activated: true });
    expect((await turn('no')).status).toBe(400);
    expect((await turn(true, newId())).status).toBe(404);
    expect((await ben.client.put(`/integrations/plugs/${id}/activate`, { status: false })).status).toBe(404);
    expect((await ben.client.get(`/integrations/${channel}/plugs`)).status).toBe(404);
    expect((await ben.client.post(`/integrations/${channel}/plugs`, { func: COMMENT, fields })).status).toBe(404);
  });

  test.each<[string, object]>([
    ['func', { func: REPOST, fields: [] }],
    ['func', { func: 'x', fields: [] }],
    ['func', { fields }],
    ['fields', { func: COMMENT }],
    ['fields', { func: COMMENT, fields: [fields[0]] }],
    ['fields.0.name', { func: COMMENT, fields: [{ name: 'more', value: '1' }, ...fields] }],
    ['fields.1.name', { func: COMMENT, fields: [fields[0], fields[0], fields[1]] }],
    ['fields.0.value', { func: COMMENT, fields: [{ name: 'likesAmount', value: 'many' }, fields[1]] }],
    ['fields.0.value', { func: COMMENT, fields: [{ name: 'likesAmount', value: '-1' }, fields[1]] }],
    ['fields.0.value', { func: COMMENT, fields: [{ name: 'likesAmount', value: '1\n' }, fields[1]] }],
    ['fields.0.value', { func: COMMENT, fields: [{ name: 'likesAmount', value: 7 }, fields[1]] }],
    ['fields.1.value', { func: COMMENT, fields: [fields[0], { name: 'post', value: 'ab' }] }],
    ['fields.1.value', { func: COMMENT, fields: [fields[0], { name: 'post', value: 'x'.repeat(10_001) }] }],
    ['fields.1.value', { func: COMMENT, fields: [fields[0], { name: 'post', value: '<b> </b>' }] }], // no text
  ])('%s is refused with its path and nothing is stored [PL8, S143]', async (field, body) => {
    const before = await count('plug_configurations');
    const answer = await ann.client.post(`/integrations/${second}/plugs`, body);
    expect({ status: answer.status, field: answer.body.errors[0].field }).toEqual({ status: 400, field });
    expect(await count('plug_configurations')).toBe(before);
  });

  test('take no text that is too long for the server of their channel', async () => {
    const save = async (text: number, value: string) => {
      await product.db.sql`
        update channels set server_limits = ${JSON.stringify({ text })}::text::jsonb where id = ${second}`;
      const sent = { func: COMMENT, fields: [fields[0], { name: 'post', value }] };
      return (await ann.client.post(`/integrations/${second}/plugs`, sent)).status;
    };
    expect(await save(20, 'x'.repeat(30))).toBe(400);
    expect(await save(40, 'x'.repeat(30))).toBe(201);
    await product.db.sql`update channels set server_limits = null where id = ${second}`;
  });

  test('need the permission channels:update [PL19]', async () => {
    await product.db.sql`update memberships set role_key = 'viewer' where user_id = ${ann.userId}`;
    try {
      expect((await ann.client.get('/integrations/plug/list')).status).toBe(403);
      expect((await ann.client.get(`/integrations/${channel}/plugs`)).status).toBe(403);
      expect((await ann.client.post(`/integrations/${channel}/plugs`, { func: COMMENT, fields })).status).toBe(403);
      expect((await ann.client.put(`/integrations/plugs/${newId()}/activate`, { status: true })).status).toBe(403);
    } finally {
      await product.db.sql`update memberships set role_key = 'owner' where user_id = ${ann.userId}`;
    }
  });
});
