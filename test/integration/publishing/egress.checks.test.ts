import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Sql } from '../../../src/platform/db/index.ts';
import { choiceOf } from '../../../src/publishing/egress/index.ts';
import { newId, openVault, sha256, type Vault } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type ProxyServer, startProxy } from '../../support/wire/proxy-server.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

const stack = new AsyncDisposableStack();
const by = { userId: null, impersonatorId: null, ip: '127.0.0.1' };
let db: TestDatabase;
let echoUrl: string;
let orgId: string;
let proxy: ProxyServer;
/** Where the questions came from. */
const from: (string | undefined)[] = [];
/** One process. `beside`: one that is there already, whose engine the new one calls by. */
async function host(beside?: Pick<Host, 'engine' | 'bus'>) {
  return stack.use(
    await openPublishing({ url: db.url, env: { EGRESS_ECHO_URL: echoUrl }, ...(beside && { engine: beside }) }),
  );
}
type Host = Awaited<ReturnType<typeof openPublishing>>;
let one: Host;
let egress: Host['egress'];
let settings: Host['providerSettings'];
let vault: Vault;
/** Events that were told since the last look. */
const told = () =>
  one.log.lines
    .splice(0)
    .flatMap(({ detail }) => /^route\.(down|up)$/.exec(String((detail as { event?: string }).event))?.[1] ?? []);

beforeAll(async () => {
  db = stack.use(await testDatabase({ connections: 12 }));
  const echo = stack.use(
    await startReceiver({
      answer(response, _, { socket }) {
        from.push(socket.remoteAddress);
        response.end(socket.remoteAddress);
      },
    }),
  );
  echoUrl = echo.url;
  one = await host();
  ({ egress, providerSettings: settings, vault } = one);
});
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  from.length = 0;
  told();
  await db.sql`update organizations set egress_setting_id = null`;
  await db.sql`update channels set egress = 'org', egress_setting_id = null`;
  await db.sql`delete from provider_settings`;
  await db.sql`delete from outbox`;
  orgId = await newOrg();
  proxy = stack.use(await startProxy({ protocol: 'socks5' }));
});

async function newOrg(): Promise<string> {
  const id = newId();
  await db.sql`insert into organizations (id, name) values (${id}, 'Acme')`;
  return id;
}
async function newChannel(): Promise<string> {
  const id = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, 'Channel', ${vault.seal('{"values":{}}')})`;
  return id;
}
async function route({ port }: { port: number } = proxy, owner: string | null = orgId): Promise<string> {
  const setting = {
    domain: 'vpn',
    providerId: 'custom',
    name: 'Berlin',
    credentials: { host: '127.0.0.1', port: String(port) },
  };
  return (await settings.create(owner, setting, by)).id;
}
const healthOf = async (id: string, org = orgId) =>
  (await egress.overview(org)).routes.find((found) => found.id === id)!;
const age = (minutes: number) =>
  db.sql`update egress_checks set checked_at = now() - ${minutes}::int * interval '1 minute'`;

const facts = () => db.sql`
  select org_id, entity_id, payload
  from outbox
  where topic = 'route.down'`;

describe('sweep of egress routes', () => {
  test('checks the routes used by an organization or a channel, and no others', async () => {
    const [ofOrg, ofChannel, unused, ofDeleted] = [await route(), await route(), await route(), await route()];
    const [channel, deleted] = [await newChannel(), await newChannel()];
    await egress.choose(orgId, choiceOf(ofOrg), by);
    await egress.chooseForChannel(orgId, channel, choiceOf(ofChannel), by);
    await egress.chooseForChannel(orgId, deleted, choiceOf(ofDeleted), by);
    await db.sql`update channels set deleted_at = now() where id = ${deleted}`;
    expect(await egress.checkDue(500)).toBe(2);
    const found = await Promise.all([ofOrg, ofChannel, unused, ofDeleted].map((id) => healthOf(id)));
    expect(found.map(({ ok, exitAddress }) => [ok, exitAddress])).toEqual([
      [true, '127.0.0.2'],
      [true, '127.0.0.2'],
      [null, null],
      [null, null],
    ]);
  });

  test('checks again after ten minutes, the oldest first, up to the limit', async () => {
    const routes = [await route(), await route()];
    const channels = [await newChannel(), await newChannel()];
    for (const [n, id] of routes.entries()) await egress.chooseForChannel(orgId, channels[n]!, choiceOf(id), by);
    expect([await egress.checkDue(500), await egress.checkDue(500)]).toEqual([2, 0]);
    await age(9);
    expect(await egress.checkDue(500)).toBe(0);
    await age(11);
    await db.sql`update egress_checks set checked_at = now() - interval '1 hour' where setting_id = ${routes[1]!}`;
    const before = (await healthOf(routes[0]!)).checkedAt;
    expect(await egress.checkDue(1)).toBe(1);
    expect((await healthOf(routes[0]!)).checkedAt).toEqual(before);
    expect([await egress.checkDue(1), await egress.checkDue(1)]).toEqual([1, 0]);
  });

  test('checks a route for every organization that uses it, on one host where two sweep at once', async () => {
    const shared = await route(proxy, null);
    const orgs = [orgId, await newOrg(), await newOrg()];
    for (const org of orgs) await egress.choose(org, choiceOf(shared), by);
    const { egress: other } = await host(one);
    const taken = await Promise.all([
      egress.checkDue(500),
      other.checkDue(500),
      egress.checkDue(500),
      other.checkDue(500),
    ]);
    expect(taken.reduce((sum, n) => sum + n)).toBe(3);
    expect(from.filter((address) => address === '127.0.0.2')).toHaveLength(3);
    for (const org of orgs) expect(await healthOf(shared, org)).toMatchObject({ ok: true });
  });

  test('checks all that are due, also where they are more than it asks at a time', async () => {
    const shared = await route(proxy, null);
    const orgs = await Promise.all(Array.from({ length: 60 }, () => newOrg()));
    await db.sql`update organizations set egress_setting_id = ${shared} where id = any(${orgs}::uuid[])`;
    await db.sql`update provider_settings set enabled = false where id = ${shared}`; // nobody is asked
    expect([await egress.checkDue(55), await egress.checkDue(500)]).toEqual([55, 5]);
  });

  test('announces once that a route stops working, and once that it works again', async () => {
    const id = await route();
    await egress.choose(orgId, choiceOf(id), by);
    const look = async () => {
      await age(11);
      await egress.checkDue(500);
      return [(await healthOf(id)).ok, ...told()];
    };
    expect(await look()).toEqual([true]);
    proxy.breaks();
    expect([await look(), await look()]).toEqual([[false, 'down'], [false]]);
    expect(await facts()).toEqual([
      { org_id: orgId, entity_id: id, payload: { name: 'Berlin', reason: expect.stringContaining('Berlin') } },
    ]);
    const { failingSince, exitAddress } = await healthOf(id);
    expect([failingSince, exitAddress]).toEqual([expect.any(Date), '127.0.0.2']);
    proxy.back();
    expect([await look(), await look()]).toEqual([[true, 'up'], [true]]);
    expect(await facts()).toHaveLength(1);
  });

  test('announces what broke while its organization was disabled once that is in use again', async () => {
    const id = await route();
    await egress.choose(orgId, choiceOf(id), by);
    await egress.checkDue(500);
    await db.sql`update organizations set disabled_at = now() where id = ${orgId}`;
    proxy.breaks();
    await age(11);
    expect([await egress.checkDue(500), await facts()]).toEqual([0, []]);
    await db.sql`update organizations set disabled_at = null where id = ${orgId}`;
    expect(await egress.checkDue(500)).toBe(1);
    expect(await facts()).toHaveLength(1);
  });

  test('tells people of a first check that fails, of a route in use alone', async () => {
    proxy.breaks();
    const [used, unused] = [await route(), await route()];
    await egress.chooseForChannel(orgId, await newChannel(), choiceOf(used), by);
    for (const id of [used, unused, used]) await egress.check(orgId, id);
    expect((await facts()).map(({ entity_id }) => entity_id)).toEqual([used]);
  });

  test('a route that is disabled, without its version or sealed under another key fails, and the others are checked', async () => {
    const names = ['disabled', 'retired', 'sealed', 'good'];
    const routes = [];
    for (const _ of names) routes.push(await route());
    for (const id of routes) await egress.chooseForChannel(orgId, await newChannel(), choiceOf(id), by);
    await db.sql`update provider_settings set enabled = false where id = ${routes[0]!}`;
    await db.sql`update provider_settings set provider_version = 'v99' where id = ${routes[1]!}`;
    const elsewhere = openVault(sha256('another key')).seal('{"password":"x"}');
    await db.sql`update provider_settings set options = '{}', credentials = ${elsewhere} where id = ${routes[2]!}`;
    expect(await egress.checkDue(500)).toBe(4);
    expect((await Promise.all(routes.map((id) => healthOf(id)))).map(({ ok }) => ok)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test('an internal error in one check is logged, and the others are done', async () => {
    proxy.breaks();
    const routes = [];
    for (let n = 0; n < 12; n++) routes.push(await route());
    for (const id of routes) await egress.chooseForChannel(orgId, await newChannel(), choiceOf(id), by);
    const failing = await host(one);
    failing.log.warn = ({ event }: { event?: string }) => {
      if (event === 'route.down') throw new Error('A fault of ours');
    };
    await expect(failing.egress.checkDue(500)).rejects.toThrow('A fault of ours');
    expect((await egress.overview(orgId)).routes.map(({ ok }) => ok)).toEqual(routes.map(() => false));
  });
});

test('a route chosen or changed on one host applies at once on another: route, login and disabling', async () => {
  const { egress: there } = await host(one);
  const login = { username: 'ann', password: 'a-long-password' };
  const locked = stack.use(await startProxy({ protocol: 'socks5', from: '127.0.0.3', login }));
  const channel = await newChannel();
  const at = async (orgOnly = false) => {
    const chosen = await there.egressRouteOf(orgId, orgOnly ? undefined : channel);
    return chosen ? (await chosen.fetch(echoUrl)).text() : 'open';
  };
  const [berlin, oslo] = [await route(), await route(locked)];
  expect([await at(), await at(true)]).toEqual(['open', 'open']);
  await egress.choose(orgId, choiceOf(berlin), by);
  expect([await at(), await at(true)]).toEqual(['127.0.0.2', '127.0.0.2']);
  await egress.chooseForChannel(orgId, channel, choiceOf(oslo), by);
  await expect(at()).rejects.toMatchObject({ proxy: 'login' });
  await settings.update(orgId, oslo, { credentials: login }, by);
  expect([await at(), await at(true)]).toEqual(['127.0.0.3', '127.0.0.2']);
  await settings.update(orgId, oslo, { enabled: false }, by);
  await expect(at()).rejects.toMatchObject({ failure: 'unavailable', message: expect.stringContaining('disabled') });
  await egress.chooseForChannel(orgId, channel, choiceOf('open'), by);
  expect([await at(), await at(true)]).toEqual(['open', '127.0.0.2']);
});

test('of two checks at once that find a route working again, one announces it', async () => {
  const id = await route();
  await egress.choose(orgId, choiceOf(id), by);
  await egress.check(orgId, id);
  await db.sql`update egress_checks set ok = false where setting_id = ${id}`;
  told();
  let checks: Promise<unknown> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`select from egress_checks where setting_id = ${id} for update`;
    checks = Promise.all([egress.check(orgId, id), egress.check(orgId, id)]);
    await eventually('both wait to write what they found', async () => {
      const waiting = await waitingOnLock(db.sql);
      return waiting === 2;
    });
  });
  await checks;
  expect(told()).toEqual(['up']);
});

test('of two first checks at once that find a route down, one announces it', async () => {
  const id = await route({ port: 1 });
  await egress.choose(orgId, choiceOf(id), by);
  let checks: Promise<unknown> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`select from provider_settings where id = ${id} for update`; // which a first row refers to
    checks = Promise.all([egress.check(orgId, id), egress.check(orgId, id)]);
    await eventually('both wait to write what they found', async () => (await waitingOnLock(db.sql)) === 2);
  });
  await checks;
  expect(told()).toEqual(['down']);
  expect(await facts()).toHaveLength(1);
});

describe('choosing an egress route during its deletion', () => {
  const chosenAndGone = async () =>
    (
      await db.sql`
        select 1
        from organizations
        where id = ${orgId}
          and egress_setting_id is not null
          and egress_setting_id not in (select id from provider_settings)`
    ).length;
  const waiting = (count: number) =>
    eventually(`${count} that wait`, async () => (await waitingOnLock(db.sql)) >= count);
  /** Holds what a work will want to write, begins it, then `other` while it waits, and lets go. */
  async function meanwhile<A, B>(
    hold: (tx: Sql) => PromiseLike<unknown>,
    work: () => Promise<A>,
    other: () => Promise<B>,
  ) {
    const results = await db.sql.begin(async (tx) => {
      await hold(tx);
      const first = Promise.allSettled([work()]);
      await waiting(1);
      const second = Promise.allSettled([other()]);
      await waiting(2);
      return { first, second };
    });
    return [(await results.first)[0], (await results.second)[0]];
  }

  test('the earlier choice holds, and the route stays', async () => {
    const id = await route();
    const [choice, removal] = await meanwhile(
      (tx) => tx`select from organizations where id = ${orgId} for update`,
      () => egress.choose(orgId, choiceOf(id), by),
      () => settings.remove(orgId, id, by),
    );
    expect([choice!.status, removal]).toEqual([
      'fulfilled',
      { status: 'rejected', reason: expect.objectContaining({ code: 'conflict' }) },
    ]);
    expect([await chosenAndGone(), (await egress.overview(orgId)).route]).toEqual([0, id]);
  });

  test('a choice locks the organization before the route, as a deletion does', async () => {
    const id = await route();
    await db.sql.begin(async (tx) => {
      await tx`select from organizations where id = ${orgId} for update`;
      void egress.choose(orgId, choiceOf(id), by);
      await waiting(1);
      await tx`select from provider_settings where id = ${id} for update nowait`;
    });
    await eventually('it is chosen', async () => (await egress.overview(orgId)).route === id);
  });

  test('the earlier deletion holds, and the choice is refused', async () => {
    const id = await route();
    const [removal, choice] = await meanwhile(
      (tx) => tx`lock table audit_log in share mode`,
      () => settings.remove(orgId, id, by),
      () => egress.choose(orgId, choiceOf(id), by),
    );
    expect([removal!.status, choice]).toEqual([
      'fulfilled',
      {
        status: 'rejected',
        reason: expect.objectContaining({
          extra: expect.objectContaining({ errors: [expect.objectContaining({ field: 'route', rule: 'unknown_id' })] }),
        }),
      },
    ]);
    expect([await chosenAndGone(), (await egress.overview(orgId)).route]).toEqual([0, 'open']);
  });

  test('a deleted organization holds no route, and its routes are not checked', async () => {
    const [own, shared] = [await route(), await route(proxy, null)];
    await egress.choose(orgId, choiceOf(shared), by);
    await egress.chooseForChannel(orgId, await newChannel(), choiceOf(own), by);
    await expect(settings.remove(null, shared, by)).rejects.toMatchObject({ code: 'conflict' });
    await db.sql`update organizations set deleted_at = now() where id = ${orgId}`;
    expect(await egress.checkDue(500)).toBe(0);
    await settings.remove(null, shared, by);
    await settings.remove(orgId, own, by);
    expect(await db.sql`select from provider_settings`).toHaveLength(0);
  });

  test('an organization that is deleted frees its routes and those it chose; a route of the instance stays', async () => {
    const [own, shared] = [await route(), await route(proxy, null)];
    await egress.choose(orgId, choiceOf(own), by);
    await egress.chooseForChannel(orgId, await newChannel(), choiceOf(shared), by);
    await egress.checkDue(500);
    await db.sql`delete from organizations where id = ${orgId}`;
    expect(await db.sql`select id from provider_settings`).toEqual([{ id: shared }]);
    expect(await db.sql`select from egress_checks`).toHaveLength(0);
    await settings.remove(null, shared, by);
  });

  test('of many at once none is chosen and deleted, and a channel without its route sends nothing', async () => {
    const channel = await newChannel();
    for (let n = 0; n < 10; n++) {
      const id = await route();
      await Promise.allSettled([
        egress.choose(orgId, choiceOf(id), by),
        settings.remove(orgId, id, by),
        egress.chooseForChannel(orgId, channel, choiceOf(id), by),
      ]);
      expect(await chosenAndGone()).toBe(0);
      await egress.choose(orgId, choiceOf('open'), by);
      await egress.chooseForChannel(orgId, channel, choiceOf('org'), by);
    }
    const id = await route();
    await egress.chooseForChannel(orgId, channel, choiceOf(id), by);
    await db.sql`update channels set deleted_at = now() where id = ${channel}`;
    await settings.remove(orgId, id, by); // nothing that is there uses it
    await db.sql`update channels set deleted_at = null where id = ${channel}`;
    await expect(egress.egressRouteOf(orgId, channel)).rejects.toMatchObject({
      failure: 'unavailable',
      message: expect.stringContaining('not there any more'),
    });
  });
});
