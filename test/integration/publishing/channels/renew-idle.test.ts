import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Channels } from '../../../../src/publishing/channels/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { openPublishing } from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
let world: Awaited<ReturnType<typeof openPublishing>>;
let channels: Channels;
let network: SocialServer;
const person = { orgId: newId(), userId: newId(), mayUpdate: true };

beforeAll(async () => {
  db = await testDatabase();
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme')`;
  await db.sql`
    insert into users (id, email, provider_name, provider_id)
    values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
  world = await openPublishing({ url: db.url });
  ({ channels } = world);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  network = await startSocialServer();
});
afterEach(async () => {
  await network[Symbol.asyncDispose]();
  await db.sql`truncate channels, connect_states, provider_apps, outbox cascade`;
});

/** A channel in which nothing is posted, whose login ends in so many days. */
async function ending(days: number): Promise<string> {
  network.expiresIn = 3_600;
  const { url } = await channels.begin(person, 'mastodon', { externalUrl: network.url });
  const { code, state } = network.consent(url);
  const { id } = await channels.complete(person, 'mastodon', { code, state });
  network.grants.length = 0;
  await db.sql`update channels set token_expires_at = now() + ${days}::int * interval '1 day' where id = ${id}`;
  return id;
}
const rowOf = async (id: string) =>
  (
    await db.sql<{ needed: boolean; credentials: string; expiresAt: Date | null }[]>`
    select refresh_needed as needed, credentials, token_expires_at as "expiresAt" from channels where id = ${id}`
  )[0]!;

describe('a login that ends soon, of a channel in which nothing is posted', () => {
  test('is renewed, and its new end is kept', async () => {
    const id = await ending(13);
    const { credentials } = await rowOf(id);
    expect(await channels.renewIdle(10)).toBe(1);
    expect(network.grants).toEqual(['refresh_token']);
    const renewed = await rowOf(id);
    expect(renewed.credentials).not.toBe(credentials);
    expect(renewed.expiresAt).toBeNull(); // the refresh token of this server does not end
  });

  test('is left alone while it lasts, and where a person has to log in', async () => {
    await ending(15);
    const id = await ending(3);
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
    expect(await channels.renewIdle(10)).toBe(0);
    expect(network.grants).toEqual([]);
  });

  test('is renewed for an organization that is disabled, and for none that is deleted', async () => {
    await ending(3);
    await db.sql`update organizations set deleted_at = now() where id = ${person.orgId}`;
    expect(await channels.renewIdle(10)).toBe(0);
    await db.sql`update organizations set deleted_at = null, disabled_at = now() where id = ${person.orgId}`;
    expect(await channels.renewIdle(10)).toBe(1);
    await db.sql`update organizations set disabled_at = null where id = ${person.orgId}`;
    expect(network.grants).toEqual(['refresh_token']);
  });

  test('is tried once a day over all processes', async () => {
    const id = await ending(3);
    await using second = await openPublishing({
      url: db.url,
      connections: 2,
      engine: { engine: world.engine, bus: world.bus },
    });
    const tried = await Promise.all([channels.renewIdle(10), second.channels.renewIdle(10)]);
    expect(tried.toSorted()).toEqual([0, 1]);
    expect(network.grants).toEqual(['refresh_token']);
    const again = () => db.sql`update channels set token_expires_at = now() + interval '3 days' where id = ${id}`;
    await again();
    expect(await channels.renewIdle(10)).toBe(0);
    await again();
    await db.sql`update channels set renewal_tried_at = now() - interval '25 hours' where id = ${id}`;
    expect(await channels.renewIdle(10)).toBe(1);
    expect(network.grants).toEqual(['refresh_token', 'refresh_token']);
  });

  test('asks for a person when the network refuses to renew it', async () => {
    const id = await ending(3);
    network.refreshTokens.clear();
    expect(await channels.renewIdle(10)).toBe(1);
    expect((await rowOf(id)).needed).toBe(true);
  });
});

test('a channel of a network whose bot acts needs no login when the stored token of the person has ended', async () => {
  const id = newId();
  const tokens = { accessToken: 'a', refreshToken: 'r', expiresAt: new Date(0), values: { guild: '1' } };
  const app = { clientId: 'the-client', clientSecret: 'the-app-secret', botToken: 'the-bot-token' };
  const credentials = sealCredentials(world.vault, { values: {}, account: '1', app, tokens, grantedAt: new Date(0) });
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${person.orgId}, 'discord', 'v1', '1', 'Bakers', ${credentials})`;
  expect(await channels.connect(person.orgId, id)).toMatchObject({ once: 'key' });
  expect(await rowOf(id)).toEqual({ needed: false, credentials, expiresAt: null });
});
