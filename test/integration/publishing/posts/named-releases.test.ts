import { afterAll, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import { settles } from '../../../support/wire/settles.ts';
import { element, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

/** Discord, with one channel: that of another organization's server. */
const discord = await startReceiver({
  answer(response, { path }) {
    const [status, body] =
      path === '/channels/99'
        ? [200, { id: '99', type: 0, guild_id: '2' }]
        : [404, { code: 10_003, message: 'Unknown Channel' }];
    response.writeHead(status).end(JSON.stringify(body));
  },
});
const routes = await openPostRoutes({
  env: { DISCORD_CLIENT_ID: 'app', DISCORD_CLIENT_SECRET: 'secret', DISCORD_BOT_TOKEN_ID: 'bot' },
  servers: { 'social/discord': discord.url },
});
const { db, world, ann, key, schedule, create, made, read } = routes;
afterAll(async () => {
  await routes.close();
  await discord[Symbol.asyncDispose]();
});

/** A channel of Ann at a network. */
async function connected(providerId: string, account: string): Promise<string> {
  const id = newId();
  const login = { account, values: {}, tokens: { accessToken: 'token' }, grantedAt: new Date() };
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${ann.orgId}, ${providerId}, 'v1', ${account}, 'Ours', ${sealCredentials(world.context.vault, login)})`;
  return id;
}
async function failedPost(channelId: string): Promise<string> {
  const id = await made(schedule({ posts: [element(channelId)] }));
  await db.sql`update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'no' where id = ${id}`;
  return id;
}
const name = (id: string, releaseId: string) => key.put(`/public/v1/posts/${id}/release-id`, { releaseId });

test('a named release leads a shared bot to no server of another organization [S118]', async () => {
  const integration = { id: await connected('discord', '1') };
  const value = [{ content: 'first' }, { content: 'second' }];
  const { body: created } = await create({ type: 'now', posts: [{ integration, value, settings: { channel: '7' } }] });
  const id: string = created[0].postId;
  await settles(async () => expect(await read(id)).toMatchObject({ state: 'ERROR' }));
  for (const wrong of ['99', '99/..\\..\\guilds\\2', '99/1?limit=1', 'x/y', '99/1/2']) {
    const { status, body } = await name(id, wrong);
    expect([status, body.code, body.errors]).toEqual([
      400,
      'validation_failed',
      [{ field: 'releaseId', message: expect.stringContaining('the channel'), rule: 'invalid_format' }],
    ]);
  }
  const before = discord.ledger.length;
  expect((await name(id, '99/99')).status).toBe(200);
  const item = async () => (await read(id)).thread[0];
  await settles(async () =>
    expect(await item()).toMatchObject({ state: 'ERROR', error: expect.stringContaining('another server') }),
  );
  const asked = discord.ledger.slice(before).map(({ method, path }) => `${method} ${path}`);
  expect(asked).toEqual(['GET /channels/99']);
});

test.each([
  ['bluesky', 'did:plc:ours', (account: string) => `at://${account}/app.bsky.feed.post/3k`, 'did:plc:theirs'],
  ['telegram', '-1001', (account: string) => `${account}/5`, '-1002'],
])('a named release of %s is a post of the connected account [S118]', async (network, ours, idOf, theirs) => {
  const id = await failedPost(await connected(network, ours));
  const { status, body } = await name(id, idOf(theirs));
  expect([status, body.errors?.[0]]).toEqual([
    400,
    { field: 'releaseId', message: 'releaseId: is a post of another account', rule: 'other_account' },
  ]);
  expect((await name(id, idOf(ours))).status).toBe(200);
});

test.each([
  ['tumblr', 't:ours', '799123456789012345', ['ours.tumblr.com/post/799', 'ours/799']],
  ['wrapcast', '3', `0x${'1a'.repeat(20)}`, ['0x71d5225f', `0x${'1a'.repeat(32)}`]],
])('a named release of %s has the form of its ids [S118]', async (network, ours, right, wrong) => {
  const id = await failedPost(await connected(network, ours));
  for (const one of wrong)
    expect(await name(id, one)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'releaseId', rule: 'invalid_format' }] },
    });
  expect((await name(id, right)).status).toBe(200);
});

test('a network without a form of its own takes an id without spaces and paths [S118]', async () => {
  const id = await failedPost(await connected('fake', 'ours'));
  for (const wrong of ['a b', '../x', 'x/./y', 'x?y', 'x\\y'])
    expect(await name(id, wrong)).toMatchObject({ status: 400, body: { errors: [{ field: 'releaseId' }] } });
  expect((await name(id, 'C1/1795427940.000247')).status).toBe(200);
});

test('an item is named behind a post that is out, and not ahead of it [S118]', async () => {
  const integration = { id: await connected('fake', 'thread') };
  const id = await made(schedule({ posts: [{ integration, value: [{ content: 'one' }, { content: 'two' }] }] }));
  await db.sql`
    update posts set state = 'ERROR', detail = null, error_kind = 'validation', due_at = null
    where id = ${id} or root_post_id = ${id}`;
  const [item] = (await read(id)).thread;
  expect([(await name(item.id, 'two')).status, (await read(item.id)).state]).toEqual([409, 'ERROR']);
  await db.sql`update posts set state = 'PUBLISHED', release_id = 'one' where id = ${id}`;
  expect([(await name(item.id, 'two')).status, (await read(item.id)).state]).toEqual([200, 'PUBLISHED']);
});
