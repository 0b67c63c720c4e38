import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

const lines: string[] = [];
let product: Product;
let ann: SignedUp;
let channel: string;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true, level: 'trace', write: (line) => void lines.push(line) });
  await product.signUp();
  ann = await product.signUp();
  channel = await connect('Net');
});
afterAll(() => product[Symbol.asyncDispose]());

async function connect(name: string): Promise<string> {
  const answer = await ann.client.post('/integrations/social-connect/sandbox', {
    fields: { name },
    allowPreview: true,
  });
  return answer.body.id;
}
const HOUR = 3_600_000;
const later = (ms = HOUR) => new Date(Date.now() + ms).toISOString();
async function made(content: string, more: object = {}, id = channel): Promise<string> {
  const answer = await ann.client.post('/posts', {
    type: 'schedule',
    date: later(),
    posts: [{ integration: { id }, value: [{ content }] }],
    ...more,
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body[0].postId;
}
async function feedOf(client: Client, id = channel): Promise<string> {
  const answer = await client.post(`/integrations/${id}/calendar-token`, {});
  if (answer.status !== 201) throw new Error(answer.text);
  const { pathname, search } = new URL(answer.body.url);
  return pathname + search;
}
const read = (address: string, headers: Record<string, string> = {}) => product.client().get(address, headers);

type Event = Readonly<Record<string, string>>;
/** The events of a calendar, with the names of their properties (RFC 5545 3.1: long lines are folded). */
const eventsIn = (text: string): Event[] =>
  text
    .replaceAll('\r\n ', '')
    .split('BEGIN:VEVENT\r\n')
    .slice(1)
    .map((event) =>
      Object.fromEntries(
        event
          .split('END:VEVENT')[0]!
          .split('\r\n')
          .filter((line) => line !== '')
          .map((line) => [/^[A-Z-]+/.exec(line)![0], line.slice(line.indexOf(':') + 1)]),
      ),
    );
const eventOf = (text: string, id: string) => eventsIn(text).find(({ UID }) => UID?.startsWith(id));
async function member(role: string): Promise<SignedUp> {
  const somebody = await product.signUp();
  await product.db.sql`
    insert into memberships (org_id, user_id, role_key)
    values (${ann.orgId}, ${somebody.userId}, ${role})`;
  somebody.client.headers = { showorg: ann.orgId };
  return somebody;
}

describe('GET /public/v1/channels/:id/calendar.ics', () => {
  test('shows queued and published posts of the channel in its range, each by its id and version, and no other', async () => {
    const other = await connect('Other');
    const date = later();
    const queued = await made('<p>Hello &amp; welcome</p><p>More, of it; all</p>', { date });
    const draft = await made('<p>Draft</p>', { type: 'draft' });
    const elsewhere = await made('<p>Elsewhere</p>', {}, other);
    const far = await made('<p>Far</p>', { date: later(91 * 24 * HOUR) });
    const published = await made('<p>Out</p>', { type: 'now' });
    await eventually(
      'it is published',
      async () => (await ann.client.get(`/posts/${published}`)).body.state === 'PUBLISHED',
    );
    const { status, text, headers } = await read(await feedOf(ann.client));
    expect([status, headers.get('content-type')]).toEqual([200, 'text/calendar; charset=utf-8']);
    expect(text.startsWith('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n')).toBe(true);
    expect(eventOf(text, queued)).toMatchObject({
      SEQUENCE: '1',
      SUMMARY: 'Hello & welcome',
      DESCRIPTION: String.raw`Hello & welcome\nMore\, of it\; all`,
      STATUS: 'TENTATIVE',
      DTSTART: date.replaceAll(/[-:]|\.\d+/g, ''),
    });
    expect(eventOf(text, published)).toMatchObject({ STATUS: 'CONFIRMED', SUMMARY: 'Out' });
    for (const id of [draft, elsewhere, far]) expect(eventOf(text, id)).toBeUndefined();
  });

  test('keeps the id of an event when its post is edited, and gives it a higher sequence', async () => {
    const id = await made('<p>Before</p>');
    const address = await feedOf(ann.client);
    const before = eventOf((await read(address)).text, id)!;
    expect((await ann.client.send('PATCH', `/posts/${id}`, { content: '<p>After</p>' })).status).toBe(200);
    const after = eventOf((await read(address)).text, id)!;
    expect([after['UID'], after['SUMMARY']]).toEqual([before['UID'], 'After']);
    expect(Number(after['SEQUENCE'])).toBeGreaterThan(Number(before['SEQUENCE']));
    await ann.client.delete(`/posts/${id}`);
    expect(eventOf((await read(address)).text, id)).toBeUndefined();
  });

  test('shows each date of a series, by the id that its post will have', async () => {
    const own = await connect('Series');
    const id = await made('<p>Again</p>', { inter: 7 }, own);
    const address = await feedOf(ann.client, own);
    const events = eventsIn((await read(address)).text);
    expect(events).toHaveLength(13); // 90 days ahead, every seventh
    expect(new Set(events.map(({ UID }) => UID)).size).toBe(13);
    expect(events[0]).toMatchObject({ SEQUENCE: '1', UID: expect.stringMatching(`^${id}@`) });
    await product.db.sql`update posts set state = 'PUBLISHED', detail = null, due_at = null where id = ${id}`;
    const successor = await product.context.posts.prepareSuccessor(ann.orgId, id);
    expect(events[1]!['UID']).toMatch(new RegExp(`^${successor!.postId!}@`));
  });

  test('answers 304 to its ETag until something of the organization has changed', async () => {
    const address = await feedOf(ann.client);
    const etag = (await read(address)).headers.get('etag')!;
    const unchanged = await read(address, { 'if-none-match': etag });
    expect([unchanged.status, unchanged.text]).toEqual([304, '']);
    await made('<p>New</p>');
    expect((await read(address, { 'if-none-match': etag })).status).toBe(200);
  });

  test('is the same text for the same posts', async () => {
    const address = await feedOf(ann.client);
    expect((await read(address)).text).toBe((await read(address)).text);
  });
});

describe('the token of a feed', () => {
  test('is one for each person and channel: a new one ends the last, and DELETE ends it', async () => {
    const bob = await member('viewer');
    const [first, his] = [await feedOf(ann.client), await feedOf(bob.client)];
    const second = await feedOf(ann.client);
    const statuses = async (...addresses: string[]) =>
      Promise.all(addresses.map(async (address) => (await read(address)).status));
    expect(await statuses(first, second, his)).toEqual([401, 200, 200]);
    expect((await ann.client.delete(`/integrations/${channel}/calendar-token`)).body).toEqual({ success: true });
    expect(await statuses(second, his)).toEqual([401, 200]);
    expect((await ann.client.delete(`/integrations/${channel}/calendar-token`)).status).toBe(404);
  });

  test('opens its own channel alone, and nothing when it is missing, malformed or unknown', async () => {
    const address = await feedOf(ann.client);
    const other = await connect('Next');
    const token = address.slice(address.indexOf('='));
    expect((await read(`/public/v1/channels/${other}/calendar.ics?token${token}`)).status).toBe(404);
    const path = `/public/v1/channels/${channel}/calendar.ics`;
    for (const query of ['', '?token=', '?token=x', `?token=cal_${'A'.repeat(43)}`]) {
      const { status, body } = await read(path + query);
      expect([query, status, body.code]).toEqual([query, 401, 'invalid_token']);
    }
    expect((await product.client().get(path, { authorization: (await ann.withKey()).key })).status).toBe(401);
  });

  test('has the rights of its owner at each call: without posts:read 403, without the membership 401 [S53]', async () => {
    const bob = await member('viewer');
    const address = await feedOf(bob.client);
    expect((await read(address)).status).toBe(200);
    const set = (change: { role_key: string; disabled: boolean }) => product.db.sql`
      update memberships
      set ${product.db.sql(change)}
      where org_id = ${ann.orgId}
        and user_id = ${bob.userId}`;
    const [role] = await product.db.sql`
      insert into roles (id, org_id, name, permissions)
      values (gen_random_uuid(), ${ann.orgId}, 'No posts', '{media:read}')
      returning id`;
    await set({ role_key: role!['id'], disabled: false });
    expect((await read(address)).status).toBe(403);
    await set({ role_key: 'viewer', disabled: true });
    expect((await read(address)).status).toBe(401);
    await set({ role_key: 'viewer', disabled: false });
    expect((await read(address)).status).toBe(200);
    await product.db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${bob.userId}`;
    expect(await product.db.sql`select from calendar_feeds where user_id = ${bob.userId}`).toHaveLength(0);
  });

  test('ends with its channel', async () => {
    const own = await connect('Short');
    const address = await feedOf(ann.client, own);
    expect((await ann.client.delete(`/integrations/${own}`)).status).toBe(200);
    expect((await read(address)).status).toBe(404);
  });

  test('is stored as a hash alone, and stands in no log, no audit entry and no later answer', async () => {
    lines.length = 0;
    const address = await feedOf(ann.client);
    const token = address.slice(address.indexOf('=') + 1);
    await read(address);
    await read(`${address}x`);
    await read(`/api${address}`);
    const rows = await Promise.all([
      product.db.sql`select * from calendar_feeds`,
      product.db.sql`select * from audit_log`,
      product.db.sql`select * from errors`,
    ]);
    expect(lines.filter((line) => line.includes('calendar.ics')).length).toBeGreaterThan(0);
    expect([lines, ...rows].filter((found) => JSON.stringify(found).includes(token))).toEqual([]);
    expect((await ann.client.get('/settings/audit')).text).toContain('calendar_feed.created');
  });
});

test('a feed is good for 60 calls an hour, each feed for itself', async () => {
  await using limited = await wholeProduct({ sandbox: true, env: { RATE_LIMIT_SCALE: '1' } });
  const owner = await limited.signUp();
  const connected = await owner.client.post('/integrations/social-connect/sandbox', {
    fields: { name: 'Net' },
    allowPreview: true,
  });
  const addressOf = async () => {
    const { body } = await owner.client.post(`/integrations/${connected.body.id}/calendar-token`, {});
    const { pathname, search } = new URL(body.url);
    return pathname + search;
  };
  const address = await addressOf();
  const ask = async (path: string) => (await limited.client().get(path)).status;
  for (let n = 0; n < 60; n += 1) expect(await ask(address)).toBe(200);
  const refused = await limited.client().get(address);
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await ask(await addressOf())).toBe(200);
});
