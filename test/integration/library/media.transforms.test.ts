import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { override, WITH_BILLING } from '../../support/worlds/billing.ts';
import { mediaApp } from '../../support/worlds/media.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

const PROCESS = fileURLToPath(new URL('../../support/processes/scripts/media-transforms-process.ts', import.meta.url));

let db: TestDatabase;
let app: TestApp;
let folder: string;
let ann: SignedUp;
let worker: AsyncDisposable | undefined;
const start = () => void (worker = app.context.media.transforms.start());
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  folder = await mkdtemp(join(tmpdir(), 'rookery-transforms-'));
  const path = process.env['PATH']!;
  const programs = join(folder, 'programs');
  await mkdir(programs);
  await symlink('/bin/sh', join(programs, 'sh'));
  process.env['PATH'] = programs; // as a machine without ffmpeg
  app = await mediaApp({ sql: db.sql, folder });
  process.env['PATH'] = path;
  ann = await app.signUp();
});
afterEach(async () => {
  await worker?.[Symbol.asyncDispose]();
  worker = undefined;
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
const upload = async (bytes: Uint8Array, name = 'lake.png', who = ann): Promise<Json> =>
  (await who.client.post('/files/upload-server', formOf(bytes, { name }))).body;
const ask = (id: string, operation: string, params: object, who = ann) =>
  who.client.post(`/files/${id}/transform`, { operation, params });
const jobOf = async (id: string, who = ann): Promise<Json> => (await who.client.get(`/files/jobs/${id}`)).body;
/** Starts a change and waits for its end. */
async function changed(id: string, operation: string, params: object, who = ann): Promise<Json> {
  const { status, body, text } = await ask(id, operation, params, who);
  if (status !== 201) throw new Error(`The change was refused: ${text}`);
  await eventually(`job ${body.id} has ended`, async () => (await jobOf(body.id, who))['endedAt'] !== null);
  return jobOf(body.id, who);
}
const fileOf = async (job: Json): Promise<Json> => (await ann.client.get(`/files/${job['result'][0].id}`)).body;
const bytesOf = async (file: Json) =>
  Buffer.from(await (await fetch(app.address + new URL(file['path']).pathname)).arrayBuffer());
const derived = (id: string) => db.sql`select id, storage_key as key from files where derived_from = ${id}`;

/** A picture whose left half is red and whose right half is blue. */
const halves = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#f00' } }).composite([
    {
      input: { create: { width: width / 2, height, channels: 3, background: '#00f' } },
      left: width / 2,
      top: 0,
    },
  ]);
const colourAt = async (bytes: Buffer, left: number, top: number) =>
  sharp(bytes).extract({ left, top, width: 1, height: 1 }).removeAlpha().raw().toBuffer();

describe('POST /files/:id/transform', () => {
  test('a picture is resized into a new file with the name, folder, text and provenance of the original, which stays', async () => {
    start();
    const original = await upload(await picture(40, 20));
    await ann.client.post('/files/information', { id: original['id'], alt: 'A lake', folder: 'trips' });
    const attribution = {
      provider: 'x',
      version: 'v1',
      itemId: newId(),
      title: 'T',
      author: 'A',
      authorUrl: null,
      url: 'https://x.example',
      licence: 'CC0',
      licenceUrl: null,
      credit: 'A, CC0',
    };
    await db.sql`update files set attribution = ${db.sql.json(attribution)} where id = ${original['id']}`;
    const before = await db.sql`select * from files where id = ${original['id']}`;
    const job = await changed(original['id'], 'resize', { width: 10 });
    expect(job).toMatchObject({
      state: 'done',
      detail: 'done',
      operation: 'resize',
      providerId: 'library',
      costMicros: 0,
      settled: true,
      progress: 100,
      error: null,
    });
    const file = await fileOf(job);
    expect(file).toMatchObject({
      name: 'lake.png',
      mime: 'image/png',
      width: 10,
      height: 5,
      alt: 'A lake',
      folder: 'trips',
    });
    expect(await sharp(await bytesOf(file)).metadata()).toMatchObject({ format: 'png', width: 10, height: 5 });
    const [row] =
      await db.sql`select attribution, derived_from as from, created_by as by from files where id = ${file['id']}`;
    expect(row).toEqual({ attribution, from: original['id'], by: ann.userId });
    expect(await db.sql`select * from files where id = ${original['id']}`).toEqual(before);
    const [fact] =
      await db.sql`select payload from outbox where topic = 'media.job_ended' and entity_id = ${job['id']}`;
    expect(fact!['payload']).toMatchObject({ state: 'done', fileIds: [file['id']], path: file['path'] });
  });

  test.each([
    [{ width: 10, height: 10, fit: 'inside' }, [10, 5]],
    [{ width: 10, height: 10, fit: 'cover' }, [10, 10]],
    [{ width: 10, height: 10, fit: 'contain' }, [10, 10]],
    [{ width: 10, height: 10, fit: 'fill' }, [10, 10]],
    [{ height: 40 }, [80, 40]],
  ])('resizes a picture of 40 x 20 by %j', async (params, sides) => {
    start();
    const { id } = await upload(await picture(40, 20));
    const file = await fileOf(await changed(id, 'resize', params));
    expect([file['width'], file['height']]).toEqual(sides);
  });

  test('crops the upright picture', async () => {
    start();
    const upright = await halves(40, 20).jpeg().withMetadata({ orientation: 6 }).toBuffer(); // shown as 20 x 40
    const { id, width, height } = await upload(upright, 'turned.jpg');
    expect([width, height]).toEqual([20, 40]);
    const file = await fileOf(await changed(id, 'crop', { left: 2, top: 25, width: 10, height: 12 }));
    expect(file).toMatchObject({ mime: 'image/jpeg', width: 10, height: 12 });
    const [red, , blue] = await colourAt(await bytesOf(file), 5, 5);
    expect([red! < 60, blue! > 200]).toEqual([true, true]);
  });

  test.each([
    ['jpeg', 'image/jpeg', 'lake.jpg'],
    ['png', 'image/png', 'lake.png'],
    ['webp', 'image/webp', 'lake.webp'],
    ['avif', 'image/avif', 'lake.avif'],
  ])('converts a transparent picture to %s', async (type, mime, name) => {
    start();
    const bytes = await sharp({ create: { width: 8, height: 8, channels: 4, background: '#0000' } })
      .webp()
      .toBuffer();
    const file = await fileOf(await changed((await upload(bytes, 'lake.webp'))['id'], 'convert', { type }));
    expect(file).toMatchObject({ mime, name, width: 8 });
    const { channels } = await sharp(await bytesOf(file)).stats();
    if (type === 'jpeg') expect(channels.every(({ min }) => min > 250)).toBe(true); // on white
    else expect(channels[3]!.max).toBe(0);
  });

  test('a moving picture goes on moving where its format can', async () => {
    start();
    const frames = await Promise.all(
      ['#f00', '#0f0', '#00f'].map((background) =>
        sharp({ create: { width: 20, height: 10, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const moving = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    const { id } = await upload(moving, 'moving.gif');
    for (const [operation, params, height, pages] of [
      ['resize', { width: 10 }, 5, 3],
      ['crop', { left: 0, top: 2, width: 20, height: 6 }, 6, 3],
      ['convert', { type: 'webp' }, 10, 3],
      ['convert', { type: 'png' }, 10, undefined],
    ] as const) {
      const file = await fileOf(await changed(id, operation, params));
      expect([operation, file['height']]).toEqual([operation, height]);
      expect((await sharp(await bytesOf(file)).metadata()).pages).toBe(pages);
    }
  });

  test('what is wrong with a wish is said with its field, and nothing is written', async () => {
    const { id } = await upload(await picture(40, 20));
    const film = await upload(HEADS['mp4']!, 'film.mp4');
    const heic = await upload(HEADS['heic']!, 'shot.heic');
    const cases: [string, string, object, string, string][] = [
      [id, 'resize', {}, 'params.width', 'custom'],
      [id, 'resize', { width: 0 }, 'params.width', 'too_small'],
      [id, 'resize', { width: 8_193 }, 'params.width', 'too_big'],
      [id, 'resize', { width: 2.5 }, 'params.width', 'invalid_type'],
      [id, 'resize', { width: 5, fit: 'stretch' }, 'params.fit', 'invalid_value'],
      [id, 'resize', { width: 5, left: 1 }, 'params.left', 'unknown'],
      [id, 'crop', { left: 0, top: 0, width: 5 }, 'params.height', 'required'],
      [id, 'crop', { left: 36, top: 0, width: 5, height: 5 }, 'params.width', 'too_big'],
      [id, 'crop', { left: 0, top: 16, width: 5, height: 5 }, 'params.height', 'too_big'],
      [id, 'crop', { left: -1, top: 0, width: 5, height: 5 }, 'params.left', 'too_small'],
      [id, 'convert', { type: 'svg' }, 'params.type', 'invalid_value'],
      [id, 'rotate', {}, 'operation', 'invalid_union'],
      [id, 'trim', { to: 1 }, 'operation', 'unsupported'],
      [id, 'trim', { from: 2, to: 2 }, 'params.to', 'custom'],
      [film['id'], 'trim', { to: 1 }, 'operation', 'unsupported'], // without ffmpeg
      [film['id'], 'resize', { width: 5 }, 'operation', 'unsupported'],
      [heic['id'], 'convert', { type: 'jpeg' }, 'operation', 'unsupported'],
    ];
    for (const [file, operation, params, field, rule] of cases) {
      const { status, body } = await ask(file, operation, params);
      expect([operation, params, status, body.errors?.[0]?.field, body.errors?.[0]?.rule]).toEqual([
        operation,
        params,
        400,
        field,
        rule,
      ]);
    }
    expect(await db.sql`select from media_transforms where ended_at is null`).toHaveLength(0);
  });

  test('a file or job of another organization is not there', async () => {
    const bob = await app.signUp();
    const { id } = await upload(await picture(4, 4));
    const { body } = await ask(id, 'resize', { width: 2 });
    expect((await ask(id, 'resize', { width: 2 }, bob)).status).toBe(404);
    expect((await ask('impossible', 'resize', { width: 2 })).status).toBe(404);
    expect((await bob.client.get(`/files/jobs/${body.id}`)).status).toBe(404);
    expect((await bob.client.delete(`/files/jobs/${body.id}`)).status).toBe(404);
    expect((await jobOf(body.id))['state']).toBe('queued');
    await ann.client.delete(`/files/jobs/${body.id}`);
  });

  test('more than fifty that wait are refused, of this organization alone', async () => {
    const [cat, dan] = [await app.signUp(), await app.signUp()];
    const { id } = await upload(await picture(4, 4), 'a.png', cat);
    await db.sql`
      insert into media_transforms (id, org_id, source_id, operation, params)
      select gen_random_uuid(), ${cat.orgId}, ${id}, 'resize', '{"width": 2}' from generate_series(1, 50)`;
    const refused = await ask(id, 'resize', { width: 2 }, cat);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    const other = await upload(await picture(4, 4), 'a.png', dan);
    const taken = await ask(other['id'], 'resize', { width: 2 }, dan);
    expect(taken.status).toBe(201);
    start(); // the one of the other organization waits behind one of these, not behind fifty
    await eventually('it is done', async () => (await jobOf(taken.body.id, dan))['state'] === 'done');
    await db.sql`delete from media_transforms where org_id = ${cat.orgId}`;
  });
});

describe('a change of a file', () => {
  test('fails where the file was deleted or cannot be read, is not tried for ever, and says why', async () => {
    const gone = await upload(await picture(4, 4));
    const { body } = await ask(gone['id'], 'resize', { width: 2 });
    await ann.client.delete(`/files/${gone['id']}`);
    const killer = await upload(await picture(4, 4));
    const { body: fourth } = await ask(killer['id'], 'resize', { width: 2 });
    await db.sql`update media_transforms set attempt = 3 where id = ${fourth.id}`; // three processes have died of it
    start();
    await eventually('both have ended', async () => (await jobOf(fourth.id))['endedAt'] !== null);
    expect(await jobOf(body.id)).toMatchObject({
      state: 'failed',
      result: null,
      error: expect.stringContaining('no longer'),
    });
    expect(await jobOf(fourth.id)).toMatchObject({ state: 'failed', error: expect.stringContaining('given up') });
    expect(await derived(killer['id'])).toEqual([]);
    const [fact] = await db.sql`select payload from outbox where topic = 'media.job_ended' and entity_id = ${body.id}`;
    expect(fact!['payload']).toMatchObject({ state: 'failed', fileIds: [], path: null });
  });

  test('is cancelled while it waits; one that is done is not', async () => {
    const { id } = await upload(await picture(4, 4));
    const { body } = await ask(id, 'resize', { width: 2 });
    const cancelled = await ann.client.delete(`/files/jobs/${body.id}`);
    expect([cancelled.status, cancelled.body]).toMatchObject([
      200,
      { state: 'failed', detail: 'cancelled', result: null },
    ]);
    expect((await ann.client.delete(`/files/jobs/${body.id}`)).status).toBe(200);
    start();
    const done = await changed(id, 'resize', { width: 2 });
    expect((await ann.client.delete(`/files/jobs/${done['id']}`)).status).toBe(409);
    expect(await derived(id)).toHaveLength(1);
  });

  test('counts against the storage of the plan, and fails without room [LM19, LM20]', async () => {
    await using billed = await mediaApp({ sql: db.sql, folder, env: WITH_BILLING });
    const eve = await billed.signUp();
    const form = formOf(await picture(40, 20));
    const original = (await eve.client.post('/files/upload-server', form)).body;
    const asked = await eve.client.post(`/files/${original.id}/transform`, {
      operation: 'resize',
      params: { width: 2 },
    });
    expect(asked.status).toBe(201);
    await override(db.sql, eve.orgId, { storage_gb: 1 });
    const full = 1024 ** 3 - original.size;
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${newId()}, ${eve.orgId}, 'a.mp4', 'a.mp4', ${newId()}, 'video', 'video/mp4', ${full})`;
    await using _ = billed.context.media.transforms.start();
    const ended = async () => (await eve.client.get(`/files/jobs/${asked.body.id}`)).body;
    await eventually('it has failed', async () => (await ended()).state === 'failed');
    expect(await derived(original.id)).toEqual([]);
    const refused = await eve.client.post(`/files/${original.id}/transform`, {
      operation: 'resize',
      params: { width: 2 },
    });
    expect([refused.status, refused.body.limit]).toEqual([402, 'storage_gb']);
  });

  test.each(['is killed', 'goes on'])(
    'comes once when the process that has written the bytes, and not the file, %s',
    async (fate) => {
      const fay = await app.signUp();
      const { id } = await upload(await picture(40, 20), 'a.png', fay);
      const child: ChildProcess = spawn(process.execPath, [PROCESS, db.url, folder], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'exit');
      try {
        await once(child.stdout!, 'data');
        const { body } = await db.sql.begin(async (tx) => {
          await tx`lock table files in exclusive mode`; // who writes a file waits
          const asked = await ask(id, 'resize', { width: 10 }, fay);
          const waiting = async (n: number) =>
            (await tx`select from pg_locks where relation = 'files'::regclass and not granted`).length >= n;
          await eventually('the other process is about to write the file', () => waiting(1));
          expect(await tx`select from media_transforms where id = ${asked.body.id} and state = 'running'`).toHaveLength(
            1,
          );
          if (fate === 'is killed') {
            child.kill('SIGKILL');
            await ended;
          }
          await db.sql`update media_transforms set next_at = now() where id = ${asked.body.id}`; // its lease is over
          if (fate === 'goes on') {
            start();
            await eventually('both are about to write it', () => waiting(2));
          }
          return asked;
        });
        if (fate === 'is killed') start();
        await eventually('it is done', async () => (await jobOf(body.id, fay))['state'] === 'done');
        child.kill('SIGTERM');
        const files = await derived(id);
        expect((await jobOf(body.id, fay))['result']).toEqual([{ id: files[0]!['id'], path: expect.any(String) }]);
        expect(files).toHaveLength(1);
        const facts = await db.sql`select from outbox where topic = 'media.job_ended' and entity_id = ${body.id}`;
        expect(facts).toHaveLength(1);
        // bytes that no file has are there to be deleted, or gone
        const known = await db.sql<{ key: string }[]>`
          select storage_key as key from files where org_id = ${fay.orgId}
          union all select thumbnail_key from files where org_id = ${fay.orgId}
          union all select storage_key from media_pending_deletions`;
        const keys = new Set(known.map(({ key }) => key));
        const objects = (await readdir(join(folder, fay.orgId))).map((name) => `${fay.orgId}/${name}`);
        expect(objects.filter((key) => !keys.has(key))).toEqual([]);
      } finally {
        child.kill('SIGKILL');
      }
    },
    60_000,
  );
});
