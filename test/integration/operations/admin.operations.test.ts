import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openErrorLog } from '../../../src/platform/error-log/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { openLogs } from '../../../src/platform/telemetry/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { type TestDatabase, testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  root = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

describe('GET /admin/errors', () => {
  const lines: string[] = [];
  const open = () =>
    openErrorLog({
      sql: db.sql,
      logs: openLogs({ level: 'debug', format: 'json', write: (line) => void lines.push(line) }),
      incarnation: 'host-1',
      retentionDays: 90,
    });

  test('shows errors logged by every process, newest first, by room and page by page [S213]', async () => {
    await using errors = open();
    errors.logs.of('posts').warn({}, 'a warning is none');
    errors.logs.of('posts').error({ postId: 'post-1', err: new TypeError('x is not a function') }, 'an adapter failed');
    errors.logs.of('outbox').error({ outboxId: 7, error: new Error('no') }, 'a row was set aside');
    errors.logs.of('posts').error({ cause: 'text' }, 'a third one');
    await eventually('they are kept', async () => (await db.sql`select 1 from errors`).length === 3);
    const { body } = await root.client.get('/admin/errors');
    expect(body.items.map(({ room, message }: { room: string; message: string }) => [room, message])).toEqual([
      ['posts', 'a third one'],
      ['outbox', 'a row was set aside'],
      ['posts', 'an adapter failed'],
    ]);
    expect(body.items[2]).toMatchObject({
      incarnation: 'host-1',
      detail: { postId: 'post-1' },
      error: expect.stringMatching(/^TypeError: x is not a function\n {4}at /),
    });
    const ofPosts = await root.client.get('/admin/errors?room=posts&limit=1');
    expect(
      (await root.client.get(`/admin/errors?room=posts&limit=1&cursor=${ofPosts.body.nextCursor}`)).body,
    ).toMatchObject({
      items: [{ message: 'an adapter failed' }],
      nextCursor: null,
    });
    expect(lines.filter((line) => line.includes('an adapter failed'))).toHaveLength(1); // the log has it as before
  });

  test('redacts secrets in errors as the log does [X19]', async () => {
    await db.sql`delete from errors`;
    const errors = open();
    const key = `pm_live_${'A'.repeat(43)}`;
    errors.logs
      .of('http')
      .error(
        { err: new Error(`refused ${key}`), password: 'hunter2-hunter2', headers: { authorization: key } },
        'a request failed',
      );
    await errors[Symbol.asyncDispose](); // writes what is waiting
    const [row] = await db.sql<{ whole: string }[]>`select e::text as whole from errors e`;
    expect(row!.whole).not.toMatch(/A{40}|hunter2/);
  });

  test('stores unusual errors and truncates a flood', async () => {
    await db.sql`delete from errors`;
    const errors = open();
    const log = errors.logs.of('http');
    const circular: Record<string, unknown> = { n: 1n };
    circular['self'] = circular;
    for (const err of [
      circular,
      null,
      undefined,
      'nul \0 and half a \ud83d',
      new Error('x'.repeat(100_000)),
      Object.assign(new Error('own'), { toString: undefined }),
    ])
      log.error({ err }, 'odd');
    log.error(circular, 'odd');
    for (let n = 0; n < 1_000; n += 1) log.error({ n }, 'flood');
    await errors[Symbol.asyncDispose](); // writes what is waiting
    expect(await db.sql`select 1 from errors where message = 'odd'`).toHaveLength(7);
    expect(await db.sql`select 1 from errors`).toHaveLength(200);
  });

  test('writes the errors of a process before it ends, and logs those lost while the database is away', async () => {
    await db.sql`delete from errors`;
    const errors = open();
    errors.logs.of('start').error({}, 'the last words');
    await errors[Symbol.asyncDispose]();
    expect(await db.sql`select 1 from errors where message = 'the last words'`).toHaveLength(1);
    const log = quietLog();
    const gone = openDatabase({ url: db.url });
    await gone.end();
    const away = openErrorLog({ sql: gone, logs: { of: () => log }, incarnation: 'host-1', retentionDays: 90 });
    away.logs.of('start').error({}, 'unheard');
    await away[Symbol.asyncDispose]();
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'unheard'],
      ['warn', 'errors could not be kept'],
    ]);
  });

  test('waits for writes under way when the process ends', async () => {
    await db.sql`delete from errors`;
    const errors = open();
    let end: PromiseLike<void> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`lock table errors in exclusive mode`;
      errors.logs.of('start').error({}, 'slow words');
      const waits = async () => (await waitingOnLock(db.sql, 'insert into errors')) === 1;
      await eventually('it is being written', waits);
      const ended = (end = errors[Symbol.asyncDispose]()).then(() => 'ended');
      expect(await Promise.race([ended, tx`select 1`.then(() => 'waits')])).toBe('waits');
    });
    await end;
    expect(await db.sql`select 1 from errors where message = 'slow words'`).toHaveLength(1);
  });

  test('deletes errors after their retention [RT6]', async () => {
    await db.sql`delete from errors`;
    await db.sql`
      insert into errors (incarnation, room, message, at)
      values ('h', 'http', 'old', now() - interval '91 days'), ('h', 'http', 'young', now())`;
    expect([
      await app.context.errors.dropOld(100),
      (await db.sql`select message from errors`).map(({ message }) => message as string),
    ]).toEqual([1, ['young']]);
  });
});

test('GET /admin/queue counts posts that are due, at their provider, and late, over all orgs [S213]', async () => {
  const [ann, eve] = [await app.signUp(), await app.signUp()];
  const late = app.context.config.posts.lateSeconds;
  const channel = async (orgId: string, more: Record<string, unknown> = {}) => {
    const id = newId();
    await db.sql`
      insert into channels ${db.sql({ id, org_id: orgId, provider_id: 'sandbox', provider_version: 'v1', internal_id: id, name: 'A', credentials: 'x', next_due_at: new Date(Date.now() - 1_000), ...more })}`;
    return id;
  };
  const post = (orgId: string, channelId: string, dueAgoSeconds: number, more: Record<string, unknown> = {}) => {
    const id = newId();
    const due = new Date(Date.now() - dueAgoSeconds * 1_000);
    return db.sql`
      insert into posts ${db.sql({ id, org_id: orgId, channel_id: channelId, group_id: id, state: 'QUEUE', detail: 'scheduled', content: 'x', publish_date: due, due_at: due, ...more })}`;
  };
  expect((await root.client.get('/admin/queue')).body).toEqual({ due: 0, publishing: 0, late: 0, circuits: [] });
  const [one, two] = [await channel(ann.orgId), await channel(eve.orgId, { slot_incarnation: 'host-1' })];
  const idle = await channel(ann.orgId, { disabled: true });
  await post(ann.orgId, one, 1);
  await post(ann.orgId, one, late + 60, { detail: 'retrying' });
  await post(ann.orgId, one, -3_600); // not yet
  await post(ann.orgId, one, 10, { state: 'DRAFT', detail: null });
  await post(ann.orgId, one, 10, { deleted_at: new Date() });
  await post(ann.orgId, idle, 10);
  await post(eve.orgId, two, 1);
  await post(eve.orgId, two, 5, { detail: 'publishing' });
  const opened = new Date('2035-01-01T00:00:00Z');
  await db.sql`
    insert into circuits (provider_id, provider_version, lane, opened_at, probe_at)
    values ('mastodon', 'v1', 'mastodon https://a.example', ${opened}, ${opened})`;
  expect((await root.client.get('/admin/queue')).body).toEqual({
    due: 3,
    publishing: 1,
    late: 1,
    circuits: [
      {
        providerId: 'mastodon',
        providerVersion: 'v1',
        lane: 'mastodon https://a.example',
        openedAt: opened.toISOString(),
        probeAt: opened.toISOString(),
      },
    ],
  });
});

describe('POST /admin/queue/refused/:id/retry', () => {
  test('has a fact heard that was set aside, which /health counts; what cannot be heard stays', async () => {
    const ann = await app.signUp();
    const hook = newId();
    const entity = newId();
    await db.sql`
      insert into webhooks (id, org_id, name, url, channel_ids, events)
      values (${hook}, ${ann.orgId}, 'Hook', 'https://a.example', '{}', '{channel.connected}')`;
    const set = (id: number, payload: object) => db.sql`
      insert into outbox_refused (listener, id, org_id, topic, entity_id, payload, created_at, error)
      values ('webhooks', ${id}, ${ann.orgId}, 'channel.connected', ${entity}, ${db.sql.json(payload as never)}, now(), 'x')`;
    await set(7_001, { providerId: 'x', name: 'Acme' });
    await set(7_002, { name: 1 });
    expect((await ann.client.get('/health')).body.outbox).toEqual({ refused: 2 });
    const retry = (id: number | string, client = root.client) => client.post(`/admin/queue/refused/${id}/retry`);
    expect((await retry(7_001, ann.client)).status).toBe(403);
    expect((await retry(7_001)).body).toEqual({ heard: ['webhooks'], refused: [] });
    const made = await db.sql`select outbox_id::int as "outboxId", seq::int, event from webhook_deliveries`;
    expect(made).toEqual([{ outboxId: 7_001, seq: 1, event: 'channel.connected' }]);
    expect((await retry(7_001)).status).toBe(404);
    expect((await retry(7_002)).body).toEqual({ heard: [], refused: ['webhooks'] });
    const [row] = await db.sql`select error from outbox_refused where id = 7002`;
    expect(row!['error']).toContain('providerId');
    expect((await retry('x')).status).toBe(404);
  });
});
