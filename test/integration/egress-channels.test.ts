import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openChannels } from '../../src/channels/index.ts';
import { choiceOf } from '../../src/egress/index.ts';
import { type Clock, newId, openVault, sha256, systemClock } from '../../src/kernel/index.ts';
import { testBilling } from '../support/billing.ts';
import { testDatabase } from '../support/database.ts';
import { testEgress } from '../support/egress.ts';
import { failureOf } from '../support/fake-network.ts';
import { handleOf, localProviders, postOf } from '../support/providers.ts';
import { startProxy } from '../support/proxy-server.ts';
import { startSocialServer } from '../support/social-server.ts';

const stack = new AsyncDisposableStack();
const person = { orgId: newId(), userId: newId(), mayUpdate: true };
const by = { userId: person.userId, impersonatorId: null, ip: '127.0.0.1' };
const vault = openVault(sha256('key of this test'));
/** Ours, and not the network's: moved on, every login has expired for us, while the network takes each token that it has just given. */
let ahead = 0;
const clock: Clock = { ...systemClock, now: () => systemClock.in(ahead), in: (ms) => systemClock.in(ahead + ms) };
const TOKEN_SECONDS = 3_600;
const expire = () => void (ahead += TOKEN_SECONDS * 1_000);
let db: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  db = stack.use(await testDatabase());
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme')`;
  await db.sql`insert into users (id, email, provider_name, provider_id) values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
});
afterAll(() => stack.disposeAsync());

test('login, renewal and publishing of a channel take its route, and nothing goes past a route that is broken, disabled or gone', async () => {
  const network = stack.use(await startSocialServer());
  const proxy = stack.use(await startProxy({ protocol: 'socks5' }));
  const providers = stack.use(localProviders({ clock }));
  const egress = testEgress(db.sql, vault, providers);
  const channels = openChannels({
    sql: db.sql,
    clock,
    vault,
    providers,
    outbound: providers.outbound,
    billing: testBilling(db.sql),
    egress,
    frontendUrl: 'https://app.example',
    returnUrlAllowlist: [],
  });
  const credentials = { host: '127.0.0.1', port: String(proxy.port) };
  const route = await egress.settings.create(person.orgId, { domain: 'vpn', providerId: 'custom', name: 'Berlin', credentials }, by);
  await egress.choose(person.orgId, choiceOf(route.id), by);

  network.expiresIn = TOKEN_SECONDS;
  const { url } = await channels.begin(person, 'mastodon', { externalUrl: network.url });
  const { code, state } = network.consent(url);
  const { id } = await channels.complete(person, 'mastodon', { code, state });
  const publish = async () => (await channels.connect(person.orgId, id)).social.publish(postOf('hello'), {}, handleOf());
  expire();
  await publish();
  const asked = new Set(proxy.asked);
  expect([asked, network.statuses.length]).toEqual([new Set([`1 127.0.0.1 ${new URL(network.url).port}`]), 1]);
  expect(network.grants).toContain('refresh_token');

  const grants = network.grants.length;
  const stopped = async (words: RegExp) => {
    const error = await failureOf(publish());
    expect([error.failure, error.message]).toEqual(['unavailable', expect.stringMatching(words)]);
    expect([network.statuses.length, network.grants.length]).toEqual([1, grants]);
  };
  expire();
  proxy.breaks();
  await stopped(/the route “Berlin”/);
  await egress.settings.update(person.orgId, route.id, { enabled: false }, by);
  await stopped(/The route “Berlin” cannot be used: it is disabled/);
  await expect(egress.settings.remove(person.orgId, route.id, by)).rejects.toMatchObject({ code: 'conflict' });

  await egress.chooseForChannel(person.orgId, id, choiceOf('open'), by);
  await publish();
  expect(network.statuses.length).toBe(2);
});
