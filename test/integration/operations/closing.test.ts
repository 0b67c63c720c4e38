import { describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { actorTypes, startActors } from '../../../actors/host/start.ts';
import { dueReminder } from '../../../actors/channel/contract.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { openContext } from '../../../src/context.ts';
import { type Database, openDatabase } from '../../../src/platform/db/index.ts';
import { type Clock, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { type Client, JWT_SECRET } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { wholeProduct } from '../../support/worlds/product.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { type ReceiverAnswer, startReceiver } from '../../support/wire/receiver.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import { addWebhook, announce, openRows, tls } from '../../support/worlds/publishing/webhooks.ts';

/** A network that connects channels, and answers nobody who publishes. */
const neverPublishes =
  (counted: { asked: number }): ReceiverAnswer =>
  (response, { path, headers, body }) => {
    const said = (value: object) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path === '/accounts') return said({ id: newId(), token: JSON.parse(String(body)).name });
    if (path === '/me') return said({ id: headers.authorization, name: 'Ann' });
    counted.asked += 1;
  };

/** Publishes a text now, in a channel of its own. */
async function publishNow(client: Client, content: string): Promise<void> {
  const channel = await client.post('/integrations/social-connect/sandbox', {
    fields: { name: newId() },
    allowPreview: true,
  });
  const posts = [{ integration: { id: channel.body.id }, value: [{ content, image: [] }], settings: {} }];
  const created = await client.post('/posts', {
    type: 'now',
    date: '2026-01-01T00:00:00Z',
    shortLink: false,
    tags: [],
    posts,
  });
  expect(created.status).toBe(201);
}

describe('a closing process', () => {
  test('hands back a post that waits for its call and marks a call that exceeds its time as unconfirmed', async () => {
    /** The 8 s that calls and deliveries have to end are over at once. */
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (ms === 8_000 ? Promise.resolve() : systemClock.sleep(ms, signal)),
    };
    await using db = await testDatabase();
    const network = { asked: 0 };
    await using receiver = await startReceiver({ answer: neverPublishes(network) });
    const env = { DATABASE_URL: db.url, PROVIDER_CALLS_IN_FLIGHT: '1' };
    const product = await wholeProduct({ env, sandboxUrl: receiver.url, clock });
    try {
      const { client } = await product.signUp();
      await publishNow(client, 'called');
      await eventually('the network is asked', () => network.asked === 1);
      await publishNow(client, 'waits');
      await eventually('the other post waits for its call', () => product.context.posts.gauges.waiting === 1);
    } finally {
      await product[Symbol.asyncDispose]();
    }
    const left = await db.sql`
      select p.content, p.state, p.detail, c.slot_post_id = p.id as "holdsSlot"
      from posts p join channels c on c.id = p.channel_id and c.org_id = p.org_id order by p.content`;
    expect([...left]).toEqual([
      { content: 'called', state: 'QUEUE', detail: 'unconfirmed', holdsSlot: true },
      { content: 'waits', state: 'QUEUE', detail: 'scheduled', holdsSlot: null },
    ]);
    expect(network.asked).toBe(1);
  });

  test('settles posts while a sweep still waits for a network, and leaves that sweep when its time is over [BO5]', async () => {
    const hangs = gate();
    /** The first look at the sweeps begins at once, and so is over what calls and sweeps have to end. */
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (ms === 8_000 ? Promise.resolve() : systemClock.sleep(ms === 30_000 ? 10 : ms, signal)),
    };
    await using db = await testDatabase();
    const network = { asked: 0 };
    await using receiver = await startReceiver({ answer: neverPublishes(network) });
    const product = await wholeProduct({
      env: { DATABASE_URL: db.url },
      sandboxUrl: receiver.url,
      clock,
      sweeps: [{ name: 'asks', everyMs: 60_000, run: () => (hangs.open(), new Promise(() => {})) }],
    });
    try {
      const { client } = await product.signUp();
      await publishNow(client, 'called');
      await eventually('the network is asked', () => network.asked === 1);
      await hangs.passed;
    } finally {
      await product[Symbol.asyncDispose]();
    }
    expect([...(await db.sql`select detail from posts`)]).toEqual([{ detail: 'unconfirmed' }]);
  });

  test('ends reconciler and sweeper: both release their leases', async () => {
    /** Their first rounds begin at once. */
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => systemClock.sleep(ms === 5_000 || ms === 30_000 ? 10 : ms, signal),
    };
    await using db = await testDatabase();
    const held = async () =>
      (await db.sql`select name from leases where name in ('reconciler', 'sweeper') order by name`).map(
        ({ name }) => name as string,
      );
    const product = await wholeProduct({ env: { DATABASE_URL: db.url }, clock });
    try {
      await eventually('both work', async () => (await held()).length === 2);
    } finally {
      await product[Symbol.asyncDispose]();
    }
    expect(await held()).toEqual([]);
  });

  test('waits for messages that are being handled', async () => {
    const product = await wholeProduct();
    const [started, release] = [gate(), gate()];
    product.context.bus.subscribe('of this test', async () => {
      started.open();
      await release.passed;
    });
    await product.context.bus.publish('of this test', [{}]);
    await started.passed;
    const closing = product[Symbol.asyncDispose]().then(() => 'closed');
    expect(await Promise.race([closing, sleep(3_000, 'waits')])).toBe('waits');
    release.open();
    expect(await closing).toBe('closed');
  });

  test('waits for the delivery that is under way, and begins no other', async () => {
    const answers = gate();
    /** Posts and deliveries get the 8 s of a drain, in which the receiver answers. */
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        if (ms === 8_000) answers.open();
        return systemClock.sleep(ms, signal);
      },
    };
    await using db = await testDatabase();
    await using receiver = await startReceiver({
      tls,
      answer: (response) => void answers.passed.then(() => response.writeHead(200).end()),
    });
    await using context = await openPublishing({
      url: db.url,
      clock,
      env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' },
      wire: { authorities: [tls.cert], resolver: async () => ['127.0.0.1'] },
    });
    const running = await startActors(context);
    const rows = openRows(db.sql);
    const orgId = await rows.org();
    const channelId = await rows.channel(orgId);
    const { id } = await addWebhook(context.webhooks, orgId, `https://hook.test:${receiver.port}/`);
    const posts = await Promise.all([1, 2].map(() => rows.post(orgId, channelId)));
    await announce(db.sql, orgId, 'post.published', posts);
    await eventually('the first one is under way', () => receiver.ledger.length === 1);
    await running[Symbol.asyncDispose]();
    expect(await db.sql`select status from webhook_attempts where webhook_id = ${id}`).toEqual([{ status: 200 }]);
    expect(receiver.ledger).toHaveLength(1);
  });

  test('releases the database to the next process, even while others hold its connections open', async () => {
    const open = (sql: Database) =>
      openContext(readConfig({ JWT_SECRET }).config, {
        logs: { of: quietLog },
        actorTypes,
        channelReminder: dueReminder,
        sandboxUrl: undefined,
        sql,
      });
    await using db = await testDatabase();
    const first = await open(db.sql);
    await first[Symbol.asyncDispose]();
    const sql = openDatabase({ url: db.url, connections: 2 });
    try {
      await using next = await open(sql);
      expect(next.engine.name).toBe('embedded');
    } finally {
      await sql.end({ timeout: 1 });
    }
  });

  test('leaves no connection to the database', async () => {
    await using db = await testDatabase({ connections: 1 });
    const others = async (): Promise<number> => {
      const rows = await db.sql`
        select
        from pg_stat_activity
        where datname = current_database()
          and backend_type = 'client backend'
          and pid <> pg_backend_pid()`;
      return rows.length;
    };
    {
      await using _product = await wholeProduct({ env: { DATABASE_URL: db.url } });
      expect(await others()).toBeGreaterThan(0);
    }
    await eventually('they are closed', async () => (await others()) === 0);
  });
});

describe('the engine', () => {
  test('is the one that ACTOR_ENGINE names', async () => {
    await using sidecar = await startReceiver();
    const port = String(sidecar.port);
    await using db = await testDatabase();
    const env = { JWT_SECRET, ACTOR_ENGINE: 'dapr', DAPR_HTTP_PORT: port, DAPR_GRPC_PORT: port };
    await using context = await openContext(readConfig(env).config, {
      logs: { of: quietLog },
      actorTypes,
      channelReminder: dueReminder,
      sandboxUrl: undefined,
      sql: db.sql,
    });
    expect(context.engine.name).toBe('dapr');
  });
});

describe('a message between processes', () => {
  test('is logged when it is not understood', async () => {
    const lines: string[] = [];
    await using product = await wholeProduct({ level: 'error', write: (line) => void lines.push(line) });
    await product.context.cache.publish('provider-settings', 'no JSON');
    await eventually('it is logged', () =>
      lines.some((line) => /"channel":"provider-settings".*a message was not understood/.test(line)),
    );
  });
});
