import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { claimDuePushes, NO_OWNER } from '../../../src/delivery/push/store.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { startInternet } from '../../support/wire/outside.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';

// Many pushes that are due at one moment: a server stands where Google's are.

const HOSTS = ['oauth2.googleapis.com', 'fcm.googleapis.com'];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const FCM = {
  FCM_PROJECT_ID: 'my-project',
  FCM_CLIENT_EMAIL: 'push@my-project.iam.gserviceaccount.com',
  FCM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().replaceAll('\n', '\\n'),
};
const LOGIN = { access_token: 'ya29.secret', expires_in: 3_600 };
interface Said {
  status: number;
  body?: object;
}

/** The token of each push, in the order of their coming. */
const sent: string[] = [];
let inFlight = 0;
let mostInFlight = 0;
let says: (token: string) => Said | Promise<Said> = () => ({ status: 200 });
let internet: Awaited<ReturnType<typeof startInternet>>;
let world: Notified;
let sender: AsyncDisposable | undefined;
beforeAll(async () => {
  internet = await startInternet(HOSTS, (request, response) => void serve(request, response));
  world = await notified({ env: FCM, network: internet.network });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await internet?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await emptyTables(world.sql, 'pushes', 'push_tokens');
  sent.length = inFlight = mostInFlight = 0;
  says = () => ({ status: 200 });
});
afterEach(async () => {
  await sender?.[Symbol.asyncDispose]();
  sender = undefined;
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const answer = ({ status, body = {} }: Said) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.headers.host === HOSTS[0]) return answer({ status: 200, body: LOGIN });
  const { token } = JSON.parse(Buffer.concat(pieces).toString()).message;
  sent.push(token);
  mostInFlight = Math.max(mostInFlight, (inFlight += 1));
  const said = await says(token);
  inFlight -= 1;
  answer(said);
}
const start = () => (sender = world.context.push.startSender({ restMs: 200 }));
/** A push to each of so many devices, all of them due now. */
async function due(devices: number): Promise<void> {
  await world.device(world.owner, 'token 0');
  await world.sql`
    insert into push_tokens (id, user_id, session_id, token, token_hash, via, platform)
    select gen_random_uuid(), user_id, session_id, 'token ' || n, sha256(('token ' || n)::bytea), via, platform
    from push_tokens
    cross join generate_series(1, ${devices - 1}::int) n`;
  await world.sql`
    insert into pushes (id, token_id, category, title, content)
    select gen_random_uuid(), id, 'channel_issues', 'Acme is disabled', 'A member disabled it.'
    from push_tokens`;
}
const waiting = () => world.sql<{ attempts: number; inMs: number }[]>`
  select attempts, extract(epoch from next_attempt_at - now())::float8 * 1000 as "inMs" from pushes`;
/** Statements about pushes while `work` runs. */
async function counted(work: () => Promise<void>): Promise<number> {
  world.db.statements.length = 0;
  await work();
  return world.db.statements.filter((text) => /\bpushes\b/.test(text) && !/extract\(epoch/.test(text)).length;
}

test('1,000 pushes are each sent once, 64 at a time, and cost a statement for two of them at most', async () => {
  await due(1_000);
  const statements = await counted(async () => {
    start();
    await eventually('all are sent', () => sent.length >= 1_000);
    await sender![Symbol.asyncDispose]();
  });
  expect(await waiting()).toEqual([]);
  expect([sent.length, new Set(sent).size]).toEqual([1_000, 1_000]);
  expect(mostInFlight).toBeLessThanOrEqual(64);
  expect(statements).toBeLessThanOrEqual(500);
});

test('pushes that end one by one while an outcome is written are written together', async () => {
  await due(300);
  const [first, others] = [gate(), gate()];
  let before: Promise<unknown> = others.passed;
  says = async (token) => {
    await (token === sent[0] ? first.passed : (before = before.then(() => setImmediate())));
    return { status: 200 };
  };
  const deletes = () => world.db.statements.filter((text) => /delete from pushes where id = any/.test(text)).length;
  world.db.statements.length = 0;
  start();
  await eventually('as many as may are under way', () => sent.length === 64);
  await world.sql.begin(async (sql) => {
    await sql`
      select from pushes where token_id = (select id from push_tokens where token = ${sent[0]!}) for update`;
    first.open();
    await eventually('the outcome of the first waits', () => deletes() === 1);
    others.open();
    await eventually('all have ended', () => sent.length === 300 && inFlight === 0);
    expect(deletes()).toBe(1);
  });
  await sender![Symbol.asyncDispose]();
  expect(await waiting()).toEqual([]);
  expect(deletes()).toBeLessThan(10); // of the last ones some may come a moment later
});

test('500 pushes that are to be tried again wait a minute each, and cost at most 250 statements', async () => {
  await due(500);
  says = () => ({ status: 503 });
  const statements = await counted(async () => {
    start();
    await eventually('all were tried', () => sent.length >= 500);
    await sender![Symbol.asyncDispose]();
  });
  expect((await waiting()).map(({ attempts, inMs }) => [attempts, inMs > 30_000 && inMs <= 60_000])).toEqual(
    Array.from({ length: 500 }, () => [1, true]),
  );
  expect([sent.length, new Set(sent).size]).toEqual([500, 500]);
  expect(statements).toBeLessThanOrEqual(250);
});

test('devices that the service does not know are deactivated together, and no others [NO31]', async () => {
  await due(200);
  const isGone = (token: string) => Number(token.split(' ')[1]) % 2 === 0;
  const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'UNREGISTERED' }];
  const body = { error: { status: 'NOT_FOUND', message: 'no', details } };
  says = (token) => (isGone(token) ? { status: 404, body } : { status: 200 });
  const statements = await counted(async () => {
    start();
    await eventually('all are sent', () => sent.length >= 200);
    await sender![Symbol.asyncDispose]();
  });
  const off = await world.sql<{ token: string }[]>`select token from push_tokens where disabled_at is not null`;
  expect([off.length, off.every(({ token }) => isGone(token)), await waiting()]).toEqual([100, true, []]);
  expect(statements).toBeLessThanOrEqual(80);
});

test('at the end pushes without a connection are due again at once, as if nobody had claimed them', async () => {
  await due(300);
  const { passed, open } = gate();
  says = () => passed.then(() => ({ status: 200 }));
  start();
  await eventually('as many as may are under way', () => sent.length === 64);
  expect((await waiting()).filter(({ attempts }) => attempts > 0).length).toBeGreaterThan(64);
  const ended = sender![Symbol.asyncDispose]();
  const released = async () => (await waiting()).filter(({ attempts, inMs }) => attempts === 0 && inMs <= 0);
  await eventually('the others are released', async () => (await released()).length === 236);
  open();
  await ended;
  expect((await waiting()).map(({ attempts }) => attempts)).toEqual(Array.from({ length: 236 }, () => 0));
  expect(sent).toHaveLength(64);
});

describe('pushes of one organization', () => {
  /** The device of one organization that many pushes wait for, and one for each of the others. */
  async function crowd(many: number, others: number) {
    await due(1 + others);
    const devices = await world.sql<{ id: string; token: string }[]>`select id, token from push_tokens order by token`;
    const ids = (
      await world.sql<{ id: string }[]>`
      select gen_random_uuid() as id from generate_series(0, ${others}::int)`
    ).map(({ id }) => id);
    await world.sql`
      update pushes p
      set owner_id = d.owner, next_attempt_at = now() - d.n * interval '1 s'
      from unnest(${devices.map(({ id }) => id)}::uuid[], ${ids}::uuid[]) with ordinality as d (id, owner, n)
      where p.token_id = d.id`;
    await world.sql`
      insert into pushes (id, token_id, owner_id, category, title, content, next_attempt_at)
      select gen_random_uuid(), ${devices[0]!.id}, ${ids[0]!}, 'channel_issues', 'Acme is disabled', 'Again.',
        now() - interval '1 hour'
      from generate_series(1, ${many}::int)`;
    return devices.slice(1).map(({ token }) => token);
  }

  test('hold up those of another by a few pushes, however many there are', async () => {
    const others = await crowd(1_000, 3);
    start();
    await eventually('all are sent', () => sent.length >= 1_004);
    for (const token of others) expect(sent.indexOf(token)).toBeLessThan(8);
    expect(sent.filter((token) => others.includes(token))).toHaveLength(3);
  });

  test('are claimed to the last place where no other has any, and by indexes alone', async () => {
    const others = await crowd(20_000, 2);
    await world.sql`analyze pushes, push_tokens`;
    world.db.statements.length = 0;
    const claimed = await claimDuePushes(world.sql, { limit: 8, leaseSeconds: 120, after: NO_OWNER });
    expect(claimed).toHaveLength(8);
    expect(claimed.slice(0, 3).map(({ token }) => token)).toEqual(expect.arrayContaining(others));
    const text = world.db.statements.find((one) => one.includes('longest_due'))!;
    const asked = text.replace(/\$\d+(?=::uuid)/g, `'${NO_OWNER}'`).replace(/\$\d+/g, '8');
    const plan = JSON.stringify((await world.sql.unsafe(`explain (analyze, format json) ${asked}`))[0]!['QUERY PLAN']);
    expect(/"Seq Scan"[^{}]*"Relation Name":"pushes"/.test(plan)).toBe(false);
    for (const [, rows] of plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":\s*(\d+)/g))
      expect(Number(rows)).toBeLessThanOrEqual(24);
  });
});
