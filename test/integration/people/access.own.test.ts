import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { picture } from '../../support/worlds/samples.ts';

// Generated from the declarations: every route that updates a post, a tag, a campaign or a file, as each role, on rows of oneself and of
// somebody else.

const updating = routes.filter(({ permission }) => /^(posts|media|campaigns):update$/.test(permission ?? ''));
const BODIES: Record<string, object> = { 'PUT /posts/:id/date': { date: '2999-01-01T00:00:00Z' } };

let product: Product;
let ann: SignedUp;
const channelId = newId();
beforeAll(async () => {
  product = await wholeProduct();
  await product.signUp();
  ann = await product.signUp();
  await product.db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channelId}, ${ann.orgId}, 'sandbox', 'v1', 'x', 'x', ${product.context.vault.seal('{"values":{}}')})`;
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

interface Asker {
  userId: string;
  session: Client;
  key: Client;
}
async function member(role: string): Promise<Asker> {
  const { userId, client, withKey } = await product.signUp();
  await product.db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${userId}, ${role})`;
  client.headers['showorg'] = ann.orgId;
  return { userId, session: client, key: await withKey() };
}
async function draftOf(userId: string): Promise<string> {
  const id = newId();
  await product.db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, due_at, created_by)
    values (${id}, ${ann.orgId}, ${channelId}, ${id}, 'DRAFT', 'x', now() + interval '1 day', now() + interval '1 day',
      ${userId})`;
  return id;
}
async function fileOf(userId: string | null): Promise<string> {
  const id = newId();
  await product.db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, created_by)
    values (${id}, ${ann.orgId}, 'x', 'x', ${id}, 'image', 'image/png', 1, ${userId})`;
  return id;
}
async function tagOf(userId: string): Promise<string> {
  const id = newId();
  await product.db.sql`
    insert into tags (id, org_id, name, color, created_by)
    values (${id}, ${ann.orgId}, ${id}, '#612AD5', ${userId})`;
  return id;
}
async function campaignOf(userId: string): Promise<string> {
  const id = newId();
  await product.db.sql`
    insert into campaigns (id, org_id, tag_id, created_by)
    values (${id}, ${ann.orgId}, ${await tagOf(userId)}, ${userId})`;
  return id;
}
const ROWS: Readonly<Record<string, (userId: string) => Promise<string>>> = {
  'posts:update': draftOf,
  'campaigns:update': tagOf,
  'media:update': fileOf,
};
const rowFor = ({ path, permission }: AnyRoute) => (path.startsWith('/campaigns/') ? campaignOf : ROWS[permission!]!);
async function ask(route: AnyRoute, who: Asker, owner: string): Promise<{ status: number; code: string | undefined }> {
  const id = await rowFor(route)(owner);
  const given = {
    ...(route.body && (example(inputSchema(route.body)) as object)),
    ...BODIES[`${route.method.toUpperCase()} ${route.path}`],
  };
  const body = 'id' in given ? { ...given, id } : given;
  const client = route.path.startsWith('/public/v1/') ? who.key : who.session;
  const path = route.path.replace(':room', `post:${id}`).replace(':id', id);
  const answer = await client.send(route.method.toUpperCase(), path, body);
  return { status: answer.status, code: answer.body?.code };
}

describe('a member', () => {
  let mia: Asker;
  beforeAll(async () => {
    mia = await member('member');
  });

  test.each(updating.map((route): [string, AnyRoute] => [`${route.method.toUpperCase()} ${route.path}`, route]))(
    '%s reaches own rows and none of others [S54]',
    async (_, route) => {
      expect(await ask(route, mia, ann.userId)).toEqual({ status: 403, code: 'forbidden' });
      expect((await ask(route, mia, mia.userId)).code).not.toBe('forbidden');
    },
  );

  test('does not update the post of another member through a create with its id [S54]', async () => {
    const edit = (id: string) => ({
      type: 'update',
      date: '2999-01-01T00:00:00.000Z',
      shortLink: false,
      tags: [],
      posts: [{ integration: { id: channelId }, value: [{ id, content: 'changed', image: [] }], settings: {} }],
    });
    const [hers, own] = [await draftOf(ann.userId), await draftOf(mia.userId)];
    expect((await mia.session.post('/posts', edit(hers))).body.code).toBe('forbidden');
    expect((await mia.session.post('/posts', edit(own))).status).toBe(201);
    expect(await product.db.sql`select id, content from posts where id in (${hers}, ${own}) order by content`).toEqual([
      { id: own, content: 'changed' },
      { id: hers, content: 'x' },
    ]);
  });

  test('owns the files uploaded by session and by key [S54]', async () => {
    const form = async () => {
      const data = new FormData();
      data.set('file', new Blob([new Uint8Array(await picture(8, 8))], { type: 'image/png' }), 'x.png');
      return data;
    };
    for (const made of [
      await mia.session.post('/files/upload-simple', await form()),
      await mia.key.post('/public/v1/upload', await form()),
    ]) {
      expect(made.status).toBe(201);
      expect((await mia.session.post('/files/information', { id: made.body.id, alt: 'mine' })).body.alt).toBe('mine');
    }
  });
});

test('a create asks for posts:create, and of the type `update` for posts:update alone', async () => {
  const holder = async (permission: string) => {
    const id = newId();
    await product.db
      .sql`insert into roles (id, org_id, name, permissions) values (${id}, ${ann.orgId}, ${id}, ${[permission]})`;
    return member(id);
  };
  const id = await draftOf(ann.userId);
  const bodyOf = (type: string, value: object) => ({
    type,
    date: '2999-01-01T00:00:00.000Z',
    shortLink: false,
    tags: [],
    posts: [{ integration: { id: channelId }, value: [{ content: 'changed', image: [], ...value }], settings: {} }],
  });
  for (const [permission, made, edited] of [
    ['posts:create', 201, 403],
    ['posts:update', 403, 201],
    ['posts:read', 403, 403],
  ] as const) {
    const who = await holder(permission);
    for (const send of [
      (body: object) => who.session.post('/posts', body),
      (body: object) => who.key.post('/public/v1/posts', body),
    ])
      expect([
        permission,
        (await send(bodyOf('draft', {}))).status,
        (await send(bodyOf('update', { id }))).status,
        (await send(bodyOf('draft', { id }))).status, // names a post, and is no update
      ]).toEqual([permission, made, edited, 403]);
  }
});

test.each(['owner', 'admin', 'editor'])('%s updates rows of others [S54]', async (role) => {
  const who = await member(role);
  for (const route of updating) expect((await ask(route, who, ann.userId)).code).not.toBe('forbidden');
});

test('gets 404 for a missing row, as everybody does [S9]', async () => {
  const mia = await member('member');
  expect((await mia.session.put(`/posts/${newId()}`, { content: 'x' })).status).toBe(404);
  expect((await mia.session.post('/files/information', { id: newId(), alt: 'x' })).status).toBe(404);
});
