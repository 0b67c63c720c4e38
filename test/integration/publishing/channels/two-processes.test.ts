import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import type { SocialAdapter } from '../../../../src/providers/registry/index.ts';
import { adapters } from '../../../../src/providers/registry/registry.gen.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import type { SocialFixture } from '../../../support/peers/suites/social.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { startInternet } from '../../../support/wire/outside.ts';
import { answer, type Exchange, whole } from '../../../support/wire/wire.ts';
import { openPublishing } from '../../../support/worlds/publishing/world.ts';

// What processes share of a login and of the pace of a network, for each network that has it.

/** Networks whose refresh tokens are good for one renewal. */
const SINGLE_USE = ['bluesky', 'kick', 'slack', 'tumblr', 'vk', 'whop', 'x'];
const APP = { clientId: 'the-client', clientSecret: 'the-app-secret' };
const registered = adapters.filter((one): one is SocialAdapter => one.domain === 'social');
const adapterOf = (id: string) => registered.find((one) => one.id === id)!;
const fixtureOf = async (id: string) =>
  ((await import(`../../../fixtures/providers/social/${id}.ts`)) as { default: SocialFixture }).default;
/** The request by which a fixture renews a login. */
const renewalOf = ({ cases }: SocialFixture): Exchange =>
  cases.find(({ operation }) => operation === 'refresh')!.exchanges[0]!;

let db: Awaited<ReturnType<typeof testDatabase>>;
let internet: Awaited<ReturnType<typeof startInternet>>;
let processes: Awaited<ReturnType<typeof openPublishing>>[];
/** What token endpoints answer, by address, and how often each was asked. */
const endpoints = new Map<string, { exchange: Exchange; asked: number }>();

beforeAll(async () => {
  for (const id of SINGLE_USE) {
    const exchange = renewalOf(await fixtureOf(id));
    endpoints.set(exchange.asks.url, { exchange, asked: 0 });
  }
  internet = await startInternet(
    [...endpoints.keys()].map((url) => new URL(url).hostname),
    (request, response) =>
      void whole(request).then(() => {
        const endpoint = endpoints.get(`https://${request.headers.host}${request.url}`);
        if (!endpoint) return answer(response, { status: 501 });
        endpoint.asked += 1;
        setTimeout(() => answer(response, endpoint.exchange.says), 200); // long enough for the other process to come
      }),
  );
  db = await testDatabase();
  const first = await openPublishing({ url: db.url, wire: internet.network, connections: 2 });
  const beside = { engine: { engine: first.engine, bus: first.bus } };
  processes = [first, await openPublishing({ url: db.url, wire: internet.network, connections: 2, ...beside })];
});
afterAll(async () => {
  for (const one of processes.toReversed()) await one[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await internet[Symbol.asyncDispose]();
});

/** A channel of a new organization, with the login of the fixture. */
async function channelOf(adapter: SocialAdapter, account: string, fixture?: SocialFixture, expiresAt?: Date) {
  const [orgId, id] = [newId(), newId()];
  const tokens = fixture?.tokens ?? { accessToken: 'the-token' };
  const credentials = {
    values: fixture?.values ?? {},
    account,
    tokens: { ...tokens, ...(expiresAt && { expiresAt }) },
    app: fixture?.app ?? APP,
    grantedAt: new Date(Date.now() - 3_600_000),
  };
  await db.sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, ${adapter.id}, ${adapter.version}, ${account}, ${adapter.title},
      ${sealCredentials(processes[0]!.vault, credentials)})`;
  return { orgId, id };
}

describe('a login whose refresh token is good for one renewal', () => {
  test.each(SINGLE_USE)('of %s is renewed once by two processes that need it at once [S137]', async (id) => {
    const fixture = await fixtureOf(id);
    const endpoint = endpoints.get(renewalOf(fixture).asks.url)!;
    const channel = await channelOf(adapterOf(id), fixture.account, fixture, new Date(Date.now() - 1_000));
    await Promise.all(processes.map(({ channels }) => channels.connect(channel.orgId, channel.id)));
    expect(endpoint.asked).toBe(1);
    const [row] = await db.sql<{ credentials: string; claim: string | null }[]>`
      select credentials, refresh_claim as claim from channels where id = ${channel.id}`;
    const { tokens } = JSON.parse(processes[1]!.vault.open(row!.credentials)) as SocialFixture;
    expect(row!.claim).toBeNull();
    expect(tokens!.refreshToken).toEqual(expect.not.stringMatching(/^the-refresh-token$/));
  });
});

describe('the pace of a network', () => {
  const paced = registered.filter(({ pace }) => pace).map((adapter) => ({ id: adapter.id, adapter }));
  test.each(paced)('of $id is one for all processes: that of an account, and that of an app', async ({ adapter }) => {
    const [mine, theirs] = [await channelOf(adapter, '1'), await channelOf(adapter, '2')];
    const pacesAt = async (n: number, { orgId, id }: typeof mine) =>
      (await processes[n]!.channels.connect(orgId, id)).paces;
    const [here, there, other] = [await pacesAt(0, mine), await pacesAt(1, mine), await pacesAt(1, theirs)];
    expect(here).toEqual(there);
    expect(here.map(({ posts, ms }) => ({ posts, ms }))).toEqual(
      expect.arrayContaining(adapter.pace!.map(({ posts, ms }) => ({ posts, ms }))),
    );
    const shared = here.filter(({ key }) => other.some((one) => one.key === key));
    expect(shared).toHaveLength(adapter.pace!.filter(({ per }) => per === 'app').length);
  });
});
