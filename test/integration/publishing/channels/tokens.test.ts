import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Channels, Snapshot } from '../../../../src/publishing/channels/index.ts';
import { newId, type Vault } from '../../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
import { settles } from '../../../support/wire/settles.ts';
import { handleOf, postOf } from '../../../support/worlds/providers.ts';
import { admit, newPost, openPublishing, settled, startPublisher } from '../../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import { endWaitingFor } from '../../../support/wire/database/waiting-on-lock.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let world: Awaited<ReturnType<typeof start>>;
let channels: Channels;
let vault: Vault;
let network: SocialServer;
const person = { orgId: newId(), userId: newId(), mayUpdate: true };
const start = (more: Partial<Parameters<typeof openPublishing>[0]> = {}) => openPublishing({ url: db.url, ...more });
/** For one more process over the same database: the embedded engine is open once. */
const beside = () => ({ engine: { engine: world.engine, bus: world.bus } });

beforeAll(async () => {
  db = await testDatabase();
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme')`;
  await db.sql`
    insert into users (id, email, provider_name, provider_id)
    values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
  world = await start();
  ({ channels, vault } = world);
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

/** A channel whose tokens last so many seconds. */
async function connected(expiresIn: number | undefined): Promise<string> {
  network.expiresIn = expiresIn;
  const { url } = await channels.begin(person, 'mastodon', { externalUrl: network.url });
  const { code, state } = network.consent(url);
  const { id } = await channels.complete(person, 'mastodon', { code, state });
  network.grants.length = 0;
  return id;
}
/** What the taking update of a publisher has read, as old as it may be by then. */
const snapshotOf = async (id: string): Promise<Snapshot> => {
  const [row] = await db.sql<Snapshot[]>`
    select provider_id as "providerId", provider_version as "providerVersion", credentials, settings,
      egress_setting_id as "routeId"
    from channels
    where id = ${id}`;
  return row!;
};
const stateOf = async (id: string) =>
  (
    await db.sql`
      select refresh_needed, disabled, refresh_claim, refresh_until, credentials from channels where id = ${id}`
  )[0]!;
const publish = async (id: string, here = channels, snapshot?: Snapshot) =>
  (await here.connect(person.orgId, id, snapshot)).social.publish(postOf('hello'), {}, handleOf());
/** The token as good as expired: as if the login had been that long ago. */
const wait = async (id: string, seconds: number) => {
  const { credentials } = await stateOf(id);
  const open = JSON.parse(vault.open(credentials as string)) as { tokens: { expiresAt: string }; grantedAt: string };
  const earlier = (at: string) => new Date(Date.parse(at) - seconds * 1_000).toISOString();
  await db.sql`
    update channels
    set credentials = ${vault.seal(JSON.stringify({ ...open, grantedAt: earlier(open.grantedAt), tokens: { ...open.tokens, expiresAt: earlier(open.tokens.expiresAt) } }))}
    where id = ${id}`;
};

describe('an expired channel token', () => {
  test('is renewed once for fifty posts, whichever version of the channel each has read [S137]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    const old = await snapshotOf(id);
    await Promise.all(Array.from({ length: 25 }, () => publish(id, channels, old)));
    for (let n = 0; n < 25; n++) await publish(id, channels, n % 2 ? old : undefined);
    expect(network.grants).toEqual(['refresh_token']);
    expect(network.statuses).toHaveLength(50);
    const { credentials, refresh_claim: claim } = await stateOf(id);
    expect(claim).toBeNull();
    expect(credentials).toMatch(/^v2:/);
  });

  test('is renewed once by three concurrent processes, all of which then use the new one [S137]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    await using second = await start({ connections: 2, ...beside() });
    await using third = await start({ connections: 2, ...beside() });
    const rooms = [channels, second.channels, third.channels];
    const { passed, open } = gate();
    network.beforeGrant = async () => void (await passed);
    const posts = rooms.flatMap((one) => [publish(id, one), publish(id, one), publish(id, one)]);
    setTimeout(open, 400); // long enough for the others to come and wait
    await Promise.all(posts);
    expect(network.grants).toEqual(['refresh_token']);
    expect(network.statuses).toHaveLength(9);
  });

  test('is renewed for a post, whose timeline tells of it [S137, S117]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    await using publisher = await startPublisher({ url: db.url, ...beside() });
    const post = newPost(id);
    await admit(publisher, person.orgId, [post]);
    await settled(db.sql, person.orgId);
    expect(network.grants).toEqual(['refresh_token']);
    const { items } = await publisher.posts.getTimeline(person.orgId, post.id);
    expect(items.map(({ kind }) => kind)).toEqual(['created', 'claimed', 'token_refreshed', 'published']);
  });

  test('keeps what the network gave while the database is away [S137]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    const given = gate();
    network.beforeGrant = async () => void (await given.passed);
    const published = publish(id);
    await settles(() => expect(network.grants).toEqual(['refresh_token'])); // its claim is written
    await db.sql.begin(async (tx) => {
      await tx`select from channels where id = ${id} for update`;
      given.open();
      await endWaitingFor(tx, db.sql);
    });
    await published;
    expect(network.grants).toEqual(['refresh_token']);
    expect(await stateOf(id)).toMatchObject({ refresh_needed: false, refresh_claim: null });
    network.beforeGrant = async () => undefined;
    await publish(id);
    expect(network.grants).toHaveLength(1);
  });

  test('is renewed before its expiry, by five minutes or a quarter of its life', async () => {
    const id = await connected(3_600);
    await publish(id);
    expect(network.grants).toEqual([]);
    await wait(id, 3_400);
    await publish(id);
    expect(network.grants).toEqual(['refresh_token']);
    const short = await connected(40);
    await publish(short);
    expect(network.grants).toEqual([]);
  });

  test('keeps the channel connected while the network is away [S137]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    for (const fault of [
      'hang up',
      { status: 503, body: {} },
      { status: 500, body: 'oops' },
      { status: 200, body: { nothing: 'useful' } },
      { status: 429, body: {} },
    ] as const) {
      network.beforeGrant = async () => fault;
      await expect(publish(id)).rejects.toMatchObject({ failure: expect.not.stringMatching('reauthorize') });
      expect(await stateOf(id)).toMatchObject({ refresh_needed: false, disabled: false, refresh_claim: null });
    }
    network.beforeGrant = async () => undefined;
    await publish(id);
    expect(network.statuses).toHaveLength(1);
  });

  test('is used on while it is still valid and the network cannot renew it', async () => {
    const id = await connected(3_600);
    await wait(id, 3_400);
    network.beforeGrant = async () => ({ status: 503, body: {} });
    await publish(id);
    expect(network.statuses).toHaveLength(1);
  });

  test('whose renewal is refused marks the channel as needing a login, once and with a fact [S137]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    network.refreshTokens.clear();
    const failures = await Promise.allSettled(Array.from({ length: 5 }, () => publish(id)));
    for (const failure of failures)
      expect(failure).toMatchObject({ status: 'rejected', reason: { failure: 'reauthorize' } });
    expect(network.grants).toEqual(['refresh_token']);
    expect(await stateOf(id)).toMatchObject({ refresh_needed: true, disabled: false, refresh_claim: null });
    expect(
      await db.sql`select topic from outbox where entity_id = ${id} and topic = 'channel.refresh_needed'`,
    ).toHaveLength(1);
    await expect(publish(id)).rejects.toMatchObject({ failure: 'reauthorize' });
    expect(network.grants).toHaveLength(1);
  });

  test('is never renewed over a login made meanwhile [S135]', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    const old = await snapshotOf(id);
    const login = network.consent(
      (await channels.begin(person, 'mastodon', { externalUrl: network.url, refresh: id })).url,
    );
    const { passed: reached, open: arrived } = gate();
    const { passed, open } = gate();
    network.beforeGrant = async (grant) => {
      if (grant !== 'refresh_token') return undefined;
      arrived();
      await passed;
      return { status: 400, body: { error: 'invalid_grant' } };
    };
    const posting = publish(id, channels, old);
    await reached;
    await channels.complete(person, 'mastodon', login);
    const { credentials } = await stateOf(id);
    open();
    await posting;
    expect(await stateOf(id)).toMatchObject({ refresh_needed: false, credentials });
  });

  test('whose renewal died with its process is renewed by the next one when the claim expires', async () => {
    const id = await connected(3_600);
    await wait(id, 3_600);
    await db.sql`
      update channels set refresh_claim = ${newId()}, refresh_until = now() + interval '1 second' where id = ${id}`;
    await publish(id);
    expect(network.grants).toEqual(['refresh_token']);
  });
});

describe('a channel token that the network refuses', () => {
  test('is renewed once and the same call is repeated [S137]', async () => {
    const id = await connected(3_600);
    network.revoke();
    await publish(id);
    expect(network.grants).toEqual(['refresh_token']);
    expect(network.statuses).toHaveLength(1);
    expect(await stateOf(id)).toMatchObject({ refresh_needed: false });
  });

  test('after its renewal too marks the channel as needing a login [S137]', async () => {
    const id = await connected(3_600);
    network.refuseAll = true;
    await expect(publish(id)).rejects.toMatchObject({ failure: 'reauthorize' });
    expect(network.grants).toEqual(['refresh_token']);
    expect(await stateOf(id)).toMatchObject({ refresh_needed: true });
  });

  test('and cannot be renewed counts as invalid when the account route refuses it too, not after one refused call [S137]', async () => {
    const id = await connected(undefined);
    network.beforeStatus = async () => ({
      status: 403,
      body: { error: 'This action is outside the authorized scopes' },
    });
    await expect(publish(id)).rejects.toMatchObject({ failure: 'rejected' });
    expect(await stateOf(id)).toMatchObject({ refresh_needed: false });
    network.beforeStatus = async () => undefined;
    network.revoke();
    await expect(publish(id)).rejects.toMatchObject({ failure: 'reauthorize' });
    expect(await stateOf(id)).toMatchObject({ refresh_needed: true });
  });

  test('appears in no error', async () => {
    const id = await connected(undefined);
    network.beforeStatus = async (token) => ({ status: 422, body: { error: `bad token ${token}` } });
    const [token] = [...network.tokens.keys()];
    await expect(publish(id)).rejects.toMatchObject({ message: expect.not.stringContaining(token!) });
  });
});

/** An account whose identity its own server tells: of the one kind that needs no directory. */
const didOf = ({ port }: { port: number }) => `did:web:localhost%3A${port}`;
const documentOf = (pds: { port: number; url: string }) => ({
  id: didOf(pds),
  service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: pds.url }],
});

describe('a server address given by a user', () => {
  const claims = (did: () => string, document: () => unknown, home?: () => string) =>
    startReceiver({
      answer(response, { path }) {
        const didDoc = home && { service: [{ id: '#atproto_pds', serviceEndpoint: home() }] };
        const session = {
          accessJwt: 'x.e30.x',
          refreshJwt: 'refresh',
          did: did(),
          handle: 'ann.test',
          ...(didDoc && { didDoc }),
        };
        const isThere = path.endsWith('Session') || path.endsWith('did.json');
        response
          .writeHead(isThere ? 200 : 400, { 'content-type': 'application/json' })
          .end(
            JSON.stringify(path.endsWith('did.json') ? document() : isThere ? session : { error: 'RecordNotFound' }),
          );
      },
    });
  const connect = (service: string) =>
    channels.complete(person, 'bluesky', { fields: { service, identifier: 'ann.test', password: 'app-password' } });

  test('connects no channel of an account that another server owns by its identity', async () => {
    await using pds = await claims(
      () => didOf(pds),
      () => documentOf(pds),
    );
    const { id } = await connect(pds.url);
    const before = await stateOf(id);
    await using thief = await claims(
      () => didOf(pds),
      () => ({ ...documentOf(pds), service: documentOf(thief).service }),
    );
    await expect(connect(thief.url)).rejects.toMatchObject({
      code: 'invalid_request',
      message: `service: ${thief.url} does not hold the account ${didOf(pds)}, which lives at ${pds.url}`,
      extra: { provider: 'bluesky' },
    });
    expect([await stateOf(id), (await db.sql`select 1 from channels`).length]).toEqual([before, 1]);
  });

  test('may lead to the server that holds the account', async () => {
    await using pds = await claims(
      () => didOf(pds),
      () => documentOf(pds),
    );
    await using door = await claims(
      () => didOf(pds),
      () => undefined,
      () => pds.url,
    );
    const { id } = await connect(door.url);
    expect((await channels.connect(person.orgId, id)).lane).toBe(`bluesky ${pds.url}`);
  });

  test.each([
    ['of a kind that is not known', () => 'did:key:z6Mk', (pds: { port: number; url: string }) => documentOf(pds)],
    ['of another address', () => 'did:web:localhost%3A1%2Fx', (pds: { port: number; url: string }) => documentOf(pds)],
    [
      'whose document is of another account',
      undefined,
      (pds: { port: number; url: string }) => ({ ...documentOf(pds), id: 'did:web:other.example' }),
    ],
    ['that lives nowhere', undefined, (pds: { port: number; url: string }) => ({ ...documentOf(pds), service: [] })],
  ])('is refused with an account %s', async (_, did, document) => {
    await using pds = await claims(did ?? (() => didOf(pds)), () => document(pds));
    await expect(connect(pds.url)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^service: /),
    });
    expect(await db.sql`select 1 from channels`).toHaveLength(0);
  });
});

describe('a channel with an app password', () => {
  test('logs in again when its refresh token is refused, and needs a login when the password is wrong [S137]', async () => {
    let good = true;
    const jwt = (seconds: number) =>
      `x.${Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1_000) + seconds })).toString('base64url')}.x`;
    let life = -10;
    const asked: string[] = [];
    await using pds = await startReceiver({
      answer(response, { path }) {
        const method = path.split('?')[0]!.split('.').at(-1)!;
        if (method !== 'json') asked.push(method);
        const session = { accessJwt: jwt(life), refreshJwt: 'refresh', did: didOf(pds), handle: 'ann.test' };
        const answers: Record<string, [number, unknown]> = {
          json: [200, documentOf(pds)],
          createSession: good ? [200, session] : [401, { error: 'AuthenticationRequired' }],
          refreshSession: [400, { error: 'ExpiredToken' }],
          getSession: [200, session],
          getRecord: [400, { error: 'RecordNotFound' }],
        };
        const [status, body] = answers[method] ?? [501, {}];
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    });
    const { id } = await channels.complete(person, 'bluesky', {
      fields: { service: pds.url, identifier: 'ann.test', password: 'app-password' },
    });
    asked.length = 0;
    life = 3_600;
    const { lane, once } = await channels.connect(person.orgId, id);
    expect([lane, once, asked]).toEqual([`bluesky ${pds.url}`, 'own-id', ['refreshSession', 'createSession']]);
    await db.sql`
      update channels
      set credentials = ${vault.seal(vault.open((await stateOf(id))['credentials'] as string).replace(/"expiresAt":"[^"]+"/, '"expiresAt":"2020-01-01T00:00:00.000Z"'))}
      where id = ${id}`;
    good = false;
    await expect(channels.connect(person.orgId, id)).rejects.toMatchObject({
      failure: 'reauthorize',
      message: expect.not.stringContaining('app-password'),
    });
    expect(await stateOf(id)).toMatchObject({ refresh_needed: true });
  });
});

test('openChannel refuses a channel of another organization and a deleted one [X11]', async () => {
  const id = await connected(undefined);
  await expect(channels.connect(newId(), id)).rejects.toMatchObject({ failure: 'rejected' });
  await channels.remove(person.orgId, id);
  await expect(channels.connect(person.orgId, id)).rejects.toMatchObject({ failure: 'rejected' });
});
