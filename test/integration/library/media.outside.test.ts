import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import {
  admit,
  type Network,
  newPost,
  openNetwork,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { HEADS, picture } from '../../support/worlds/samples.ts';

// What posts name by an address outside is copied: how much of it, and how long.

const ROOM = 2 * 1024 ** 3;
let db: TestDatabase;
let media: MediaRoom;
let network: Network;
let world: Publisher;
let folder: string;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'rookery-outside-'));
  network = openNetwork();
  world = await startPublisher({
    url: db.url,
    network,
    env: { UPLOAD_FOLDER: folder, MEDIA_UPLOAD_MAX_BYTES: String(ROOM) },
  });
  ({ media } = world.context);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const item = (path: string) => ({ path, alt: '' });
const load = (orgId: string, path: string, attempt: typeof ATTEMPT | object = ATTEMPT) =>
  media.load(orgId, [item(path)], attempt as never);
async function seedPost(orgId: string, channelId: string, paths: readonly string[], state = 'QUEUE'): Promise<string> {
  const id = newId();
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, publish_date, due_at)
    values (${id}, ${orgId}, ${channelId}, 'g', ${state}, 'scheduled', 'hi', ${db.sql.json(paths.map(item))}, now(),
      now())`;
  return id;
}
/** A copy that is there already, of so many bytes as its row says. */
const seedCopy = (orgId: string, url: string, bytes: number) => db.sql`
  insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, source_url, listed)
  values (${newId()}, ${orgId}, 'x', 'x', ${newId()}, 'image', 'image/png', ${bytes}, ${url}, false)`;
const copies = async (orgId: string) => {
  const [row] = await db.sql<{ n: number; bytes: number }[]>`
    select count(*)::int as n, coalesce(sum(bytes), 0)::float8 as bytes
    from files
    where org_id = ${orgId} and source_url is not null`;
  return row!;
};

test('a file that many posts name is fetched once, and each network gets the address that the user typed', async () => {
  const png = await picture(9, 9);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  const { orgId } = await seedOrg(db.sql);
  const loaded = await Promise.all(Array.from({ length: 16 }, () => load(orgId, `${site.url}/a.png`)));
  expect([site.ledger.length, (await copies(orgId)).n]).toEqual([1, 1]);
  // its copy goes with the post, and no network can reach an address of this machine
  expect(loaded.filter(([one]) => 'publicUrl' in one!)).toEqual([]);
});

test('copies of an organization take 2 GiB and 200 files at a time; a post waits until others have settled', async () => {
  const png = await picture(9, 9);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  for (const [files, bytes] of [
    [1, ROOM - 10],
    [200, 10],
  ] as const) {
    const { orgId, channelIds } = await seedOrg(db.sql);
    const named = Array.from({ length: files }, (_, n) => `https://elsewhere.example/${n}.png`);
    const posts = await Promise.all(named.map((url) => seedPost(orgId, channelIds[0]!, [url])));
    for (const url of named) await seedCopy(orgId, url, bytes);
    const waiting = `${site.url}/waits-${files}.png`;
    await seedPost(orgId, channelIds[0]!, [waiting]);
    await expect(load(orgId, waiting)).rejects.toMatchObject({
      failure: 'unavailable',
      retryAfterMs: expect.any(Number),
    });
    expect(await copies(orgId)).toEqual({ n: files, bytes: files * bytes });
    await db.sql`update posts set state = 'PUBLISHED' where id = any(${posts})`;
    expect(await load(orgId, waiting)).toHaveLength(1);
    expect(await copies(orgId)).toEqual({ n: 1, bytes: png.length });
  }
});

test('a file of another organization is fetched next to 300 that wait, of which 32 are under way', async () => {
  const png = await picture(9, 9);
  let answering = false;
  const open: (() => void)[] = [];
  await using site = await startReceiver({
    answer: (response) => {
      const answer = () => void response.writeHead(200).end(png);
      if (answering) answer();
      else open.push(answer);
    },
  });
  const paths = () => site.ledger.map(({ path }) => path);
  const [flood, other] = [await seedOrg(db.sql), await seedOrg(db.sql)];
  const loaded = Array.from({ length: 300 }, (_, n) => load(flood.orgId, `${site.url}/flood-${n}.png`));
  const ended = Promise.allSettled(loaded);
  await eventually('half of the places are taken', () => paths().length === 32);
  const first = load(other.orgId, `${site.url}/other.png`);
  await eventually('another organization is next', () => paths().length === 33);
  expect(paths().at(-1)).toBe('/other.png');
  answering = true;
  for (const answer of open) answer();
  expect(await first).toHaveLength(1);
  await ended;
});

test('concurrent fetches stay within the limit together', async () => {
  const png = await picture(9, 9);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  const { orgId, channelIds } = await seedOrg(db.sql);
  const urls = Array.from({ length: 12 }, (_, n) => `${site.url}/many.png?n=${n}`);
  await seedPost(orgId, channelIds[0]!, [...urls, 'https://elsewhere.example/big.mp4']);
  await seedCopy(orgId, 'https://elsewhere.example/big.mp4', ROOM - png.length * 5 - 1);
  const done = await Promise.allSettled(urls.map((url) => load(orgId, url)));
  for (const one of done) if (one.status === 'rejected') expect(one.reason).toMatchObject({ failure: 'unavailable' });
  const kept = await copies(orgId);
  expect([kept.bytes <= ROOM, kept.n - 1]).toEqual([true, done.filter(({ status }) => status === 'fulfilled').length]);
  expect(await readdir(join(folder, '.incoming'))).toEqual([]);
});

test('a fetch reads no more than the network accepts', async () => {
  let sent = 0;
  const piece = Buffer.concat([HEADS['mp4']!, Buffer.alloc(1024 ** 2)]);
  await using site = await startReceiver({
    answer: (response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && sent < 400 * 1024 ** 2) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    },
  });
  const { orgId } = await seedOrg(db.sql);
  const pictures = { ...ATTEMPT, limits: { ...ATTEMPT.limits, mediaTypes: ['image/png'] } };
  await expect(load(orgId, `${site.url}/film.mp4`, pictures)).rejects.toMatchObject({ failure: 'rejected' });
  expect(sent).toBeLessThan(200 * 1024 ** 2);
  expect(await copies(orgId)).toEqual({ n: 0, bytes: 0 });
}, 60_000);

test('copies of thumbnails and covers stay while a post that is on its way needs them', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const address = (name: string) => `https://a.example/${name}.png`;
  const kept = ['picture', 'thumbnail', 'cover', 'file'];
  for (const name of [...kept, 'other']) await seedCopy(orgId, address(name), 10);
  const seed = (items: object[], settings: object) => db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, settings, publish_date, due_at)
    values (${newId()}, ${orgId}, ${channelId}, 'g', 'QUEUE', 'paused', 'hi', ${db.sql.json(items as never)},
      ${db.sql.json(settings as never)}, now(), now())`;
  await seed([{ ...item(address('picture')), thumbnail: address('thumbnail') }], {});
  await seed([], { cover: address('cover') });
  await seed([], { cover: { id: 'f1', path: address('file') } });
  await media.settled(orgId, [item(address('other'))]);
  const left = await db.sql<{ url: string }[]>`
    select source_url as url from files where org_id = ${orgId} order by url`;
  expect(left.map(({ url }) => url)).toEqual(kept.map(address).toSorted());
});

test('a copy that the settings of a channel name stays while a post of the channel is on its way', async () => {
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const [busy, idle] = channelIds as [string, string];
  const address = (name: string) => `https://a.example/${name}.png`;
  for (const name of ['busy', 'idle']) await seedCopy(orgId, address(name), 10);
  for (const [id, name] of [
    [busy, 'busy'],
    [idle, 'idle'],
  ] as const)
    await db.sql`update channels set settings = ${db.sql.json({ cover: { path: address(name) } })} where id = ${id}`;
  await seedPost(orgId, busy, []);
  await media.settled(orgId, [item(address('other'))]);
  const left = await db.sql<{ url: string }[]>`select source_url as url from files where org_id = ${orgId}`;
  expect(left.map(({ url }) => url)).toEqual([address('busy')]);
});

test('a copy that only a setting names leaves the disk when its post has settled [S260]', async () => {
  const png = await picture(9, 9);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  network.declares = { fileSettings: ['cover'] };
  network.behave = async (_post, _sent, accept) => accept();
  try {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = newPost(channelId, { settings: { cover: `${site.url}/cover.png` } });
    await admit(world, orgId, [post]);
    await settled(db.sql, orgId);
    expect(site.ledger).toHaveLength(1);
    await eventually('its copy is gone', async () => (await copies(orgId)).n === 0);
  } finally {
    network.declares = {};
  }
});

test('a copy leaves the disk when its last post has settled', async () => {
  const png = await picture(9, 9);
  await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
  const { orgId, channelIds } = await seedOrg(db.sql, 2);
  const url = `${site.url}/settles.png`;
  const key = async () =>
    (
      await db.sql<
        { key: string }[]
      >`select storage_key as key from files where org_id = ${orgId} and source_url = ${url}`
    )[0]?.key;
  const held = Promise.withResolvers<void>();
  const seen: (string | undefined)[] = [];
  network.behave = async (_post, sent, accept) => {
    seen.push(await key());
    if (sent.channelId === channelIds[1]) await held.promise;
    return accept();
  };
  const posts = channelIds.map((channelId) => newPost(channelId, { media: [item(url)] }));
  await admit(world, orgId, posts);
  await eventually(
    'one post is out, the other on its way',
    async () => seen.length === 2 && (await stateOf(db.sql, posts[0]!.id))!.state === 'PUBLISHED',
  );
  const stored = await key();
  expect([typeof stored, existsSync(join(folder, stored!))]).toEqual(['string', true]); // the other post still needs it
  held.resolve();
  await settled(db.sql, orgId);
  await eventually(
    'its row and its bytes are gone',
    async () => (await key()) === undefined && !existsSync(join(folder, stored!)),
  );
  expect(new Set(seen)).toEqual(new Set([stored]));
}, 60_000);
