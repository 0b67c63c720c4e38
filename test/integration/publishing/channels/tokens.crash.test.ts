import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { type CrashingHost, openCrashing, type Place } from '../../../support/worlds/crash/crashing.ts';
import { handleOf, postOf } from '../../../support/worlds/providers.ts';
import { openPublishing } from '../../../support/worlds/publishing/world.ts';

// A network that takes each refresh token once: a process dies between its answer and the row that keeps the new one.

const person = { orgId: newId(), userId: newId(), mayUpdate: true };
const SAVES = /set credentials = .* refresh_claim = null/;
const stack = new AsyncDisposableStack();
let db: TestDatabase;
let world: Awaited<ReturnType<typeof openPublishing>>;
let network: SocialServer;
let id: string;

beforeAll(async () => {
  db = stack.use(await testDatabase());
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme')`;
  await db.sql`
    insert into users (id, email, provider_name, provider_id)
    values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
  world = stack.use(await openPublishing({ url: db.url }));
  network = stack.use(await startSocialServer());
  network.expiresIn = 3_600;
}, 60_000);
afterAll(() => stack.disposeAsync());

const login = async (integrationId?: string): Promise<string> => {
  const { url } = await world.channels.begin(person, 'mastodon', {
    externalUrl: network.url,
    ...(integrationId && { refresh: integrationId }),
  });
  const { code, state } = network.consent(url);
  return (await world.channels.complete(person, 'mastodon', { code, state })).id;
};
const publish = async ({ channels }: Pick<CrashingHost['context'], 'channels'>) =>
  (await channels.connect(person.orgId, id)).social.publish(postOf('hello'), {}, handleOf());
const needsLogin = async () =>
  (await db.sql`select refresh_needed from channels where id = ${id}`)[0]!['refresh_needed'] as boolean;

/** A process renews the login for a post; it dies at `place`, or publishes. Answers the statements that it sent. */
async function renew(place?: Place): Promise<readonly { text: string }[]> {
  const env = { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' };
  await using host = await openCrashing({ db, env, now: Date.now, parts: {} });
  network.revoke();
  host.count(place);
  await Promise.race([publish(host.context), host.died]);
  expect(host.isDead).toBe(place !== undefined);
  if (host.isDead) await host.buried();
  return [...host.sent];
}

let at: number;
beforeEach(async () => {
  network.account = newId();
  id = await login();
  at = (await renew()).findIndex(({ text }) => SAVES.test(text)) + 1;
  expect(at).toBeGreaterThan(0);
  network.grants.length = 0;
  network.statuses.length = 0;
});

test('a process that dies before it keeps a new token leaves a channel that asks for a login and publishes nothing [S137]', async () => {
  await renew({ at, cut: 'before' });
  expect(network.grants).toEqual(['refresh_token']);
  await db.sql`update channels set refresh_until = now() where id = ${id}`; // its claim is over
  await expect(publish(world)).rejects.toMatchObject({ failure: 'reauthorize' });
  expect(network.grants).toEqual(['refresh_token', 'refresh_token']);
  expect([await needsLogin(), network.statuses]).toEqual([true, []]);
  expect(await login(id)).toBe(id);
  await publish(world);
  expect([await needsLogin(), network.statuses.length]).toEqual([false, 1]);
});

test('a process that dies after it kept a new token leaves a channel that uses it [S137]', async () => {
  await renew({ at, cut: 'after' });
  await publish(world);
  expect(network.grants).toEqual(['refresh_token']);
  expect([await needsLogin(), network.statuses.length]).toEqual([false, 1]);
});
