import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { choiceOf } from '../../../src/publishing/egress/index.ts';
import { type Clock, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { handleOf, postOf } from '../../support/worlds/providers.ts';
import { startProxy } from '../../support/wire/proxy-server.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import { startSocialServer } from '../../support/peers/social-server.ts';

const stack = new AsyncDisposableStack();
const person = { orgId: newId(), userId: newId(), mayUpdate: true };
const by = { userId: person.userId, impersonatorId: null, ip: '127.0.0.1' };
/**
 * Ours, and not the network's: moved on, every login has expired for us, while the network takes each token that it has
 * just given.
 */
let ahead = 0;
const clock: Clock = { ...systemClock, now: () => systemClock.in(ahead), in: (ms) => systemClock.in(ahead + ms) };
const TOKEN_SECONDS = 3_600;
const expire = () => void (ahead += TOKEN_SECONDS * 1_000);
let db: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  db = stack.use(await testDatabase());
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme')`;
  await db.sql`
    insert into users (id, email, provider_name, provider_id)
    values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
});
afterAll(() => stack.disposeAsync());

test('login, renewal and publishing of a channel use its egress route, and none bypasses a broken, disabled or deleted one', async () => {
  const network = stack.use(await startSocialServer());
  const proxy = stack.use(await startProxy({ protocol: 'socks5' }));
  const { channels, egress, providerSettings } = stack.use(await openPublishing({ url: db.url, clock }));
  const credentials = { host: '127.0.0.1', port: String(proxy.port) };
  const route = await providerSettings.create(
    person.orgId,
    { domain: 'vpn', providerId: 'custom', name: 'Berlin', credentials },
    by,
  );
  await egress.choose(person.orgId, choiceOf(route.id), by);

  network.expiresIn = TOKEN_SECONDS;
  const { url } = await channels.begin(person, 'mastodon', { externalUrl: network.url });
  const { code, state } = network.consent(url);
  const { id } = await channels.complete(person, 'mastodon', { code, state });
  const publish = async () =>
    (await channels.connect(person.orgId, id)).social.publish(postOf('hello'), {}, handleOf());
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
  await providerSettings.update(person.orgId, route.id, { enabled: false }, by);
  await stopped(/The route “Berlin” cannot be used: it is disabled/);
  await expect(providerSettings.remove(person.orgId, route.id, by)).rejects.toMatchObject({ code: 'conflict' });

  await egress.chooseForChannel(person.orgId, id, choiceOf('open'), by);
  await publish();
  expect(network.statuses.length).toBe(2);
});
