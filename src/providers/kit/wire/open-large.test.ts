import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { type Receiver, startReceiver } from '../../../../test/support/wire/receiver.ts';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../platform/outbound/index.ts';
import { refused } from '../declare/fallback.ts';
import { base64File, fileAnswer, type LargeFile } from './large.ts';
import { openLarge } from './open-large.ts';
import type { HttpOptions } from './open-http.ts';

let receiver: Receiver;
let outbound: Outbound;
let folder: string;
beforeAll(async () => {
  outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  receiver = await startReceiver();
  folder = await mkdtemp(join(tmpdir(), 'rookery-large-'));
});
afterAll(async () => {
  await outbound[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  receiver.ledger.splice(0);
  await Promise.all((await readdir(folder)).map((name) => rm(join(folder, name))));
});

const open = (manifest: Partial<HttpOptions['manifest']> = {}) =>
  openLarge({
    manifest: { title: 'Demo', api: receiver.url, ...manifest },
    outbound,
    folder,
    clock: systemClock,
    values: {},
    secrets: ['the-key'],
  });
const answers = (body: string | Buffer, type = 'application/json', status = 200) => {
  receiver.answer = (response) => void response.writeHead(status, { 'content-type': type }).end(body);
};
const read = (file: LargeFile) => buffer(file.open());
const picture = Buffer.alloc(200_000, 'picture');
const Pictures = z.object({ data: z.array(z.object({ b64_json: base64File('image/png') })) });
const withPictures = (...all: Buffer[]) =>
  JSON.stringify({ data: all.map((one) => ({ b64_json: one.toString('base64') })) });

describe('large', () => {
  test('reads pictures of an answer into files, which can be read again until they are discarded', async () => {
    answers(withPictures(picture, Buffer.from('small')));
    const { data } = await open()('/images', Pictures, { json: { n: 2 }, creates: true });
    const [large, small] = data.map(({ b64_json }) => b64_json);
    expect([large!.contentType, large!.size, small!.contentType, small!.size]).toEqual([
      'image/png',
      picture.length,
      'image/png',
      5,
    ]);
    expect(await read(large!)).toEqual(picture);
    expect(await read(large!)).toEqual(picture);
    expect((await read(small!)).toString()).toBe('small');
    expect(await readdir(folder)).toHaveLength(1);
    await Promise.all([large!.discard(), small!.discard()]);
    await large!.discard();
    expect(await readdir(folder)).toEqual([]);
    await expect(read(large!)).rejects.toMatchObject({ failure: 'unavailable' });
  });

  test('reads an answer of bytes into a file, and shows headers beside it', async () => {
    receiver.answer = (response) =>
      void response.writeHead(200, { 'content-type': 'audio/mpeg; q=1', 'x-cost': '12' }).end('sound');
    const Sound = z.object({ file: fileAnswer('audio'), headers: z.object({ 'x-cost': z.coerce.number() }) });
    const { file, headers } = await open()('/speech', Sound, { replyHeaders: ['x-cost'], json: {}, creates: true });
    expect([file.contentType, (await read(file)).toString(), headers]).toEqual([
      'audio/mpeg',
      'sound',
      { 'x-cost': 12 },
    ]);
  });

  test('deletes files that the result does not hold', async () => {
    answers(withPictures(picture, picture));
    const First = Pictures.transform(({ data }) => ({ outputs: [{ kind: 'image', ...data[0]!.b64_json }] }));
    const { outputs } = await open()('/images', First, { creates: true });
    expect(await readdir(folder)).toHaveLength(1);
    await outputs[0]!.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  const Filtered = Pictures.transform((): never => {
    throw refused('rejected', 'The picture was filtered');
  });
  test.each<[string, () => void, z.ZodType, string]>([
    ['does not fit the schema', () => answers(withPictures(picture)), z.object({ id: z.string() }), 'lost'],
    ['is refused by the schema', () => answers(withPictures(picture)), Filtered, 'rejected'],
    ['is cut', () => cutAfter(withPictures(picture), 150_000), Pictures, 'lost'],
    ['ends within a file', () => answers(withPictures(picture).slice(0, 150_000)), Pictures, 'lost'],
    ['is no JSON', () => answers('<!doctype html>', 'text/html'), Pictures, 'lost'],
    ['is empty', () => answers('', 'audio/mpeg'), z.object({ file: fileAnswer('audio') }), 'lost'],
    ['has too many files', () => answers(withPictures(...Array<Buffer>(17).fill(picture))), Pictures, 'lost'],
    ['is too long', () => answers(JSON.stringify({ data: [' '.repeat(2_000_000)] })), Pictures, 'lost'],
    ['is a refusal', () => answers(withPictures(picture), 'application/json', 400), Pictures, 'rejected'],
    ['is a failure', () => answers('', 'audio/mpeg', 500), Pictures, 'lost'],
  ])('leaves no file behind when the answer %s', async (_, prepare, reply, failure) => {
    prepare();
    await expect(open()('/images', reply, { creates: true })).rejects.toMatchObject({ failure });
    expect(await readdir(folder)).toEqual([]);
    expect(receiver.ledger).toHaveLength(1);
  });

  test('reads a failure inside a 200, and the words of a refusal without secrets', async () => {
    const errorInside = z.object({ error: z.string() }).transform(() => 'exhausted' as const);
    answers(JSON.stringify({ error: 'no credits for the-key', image: picture.toString('base64') }));
    await expect(open({ errorInside })('/images', Pictures, { creates: true })).rejects.toMatchObject({
      failure: 'exhausted',
      message: 'Demo refused: no credits for ***',
    });
    expect(await readdir(folder)).toEqual([]);
  });

  test('fetches by GET, and repeats that when the line was cut', async () => {
    let asked = 0;
    receiver.answer = (response) =>
      (asked += 1) === 1
        ? void response
            .writeHead(200, { 'content-type': 'video/mp4', 'content-length': '9' })
            .write('half', () => response.destroy())
        : void response.writeHead(200, { 'content-type': 'video/mp4' }).end('the whole');
    const { file } = await open()('/result', z.object({ file: fileAnswer('video') }), { method: 'GET' });
    expect((await read(file)).toString()).toBe('the whole');
    expect(await readdir(folder)).toHaveLength(1);
  });

  test('has written each piece of an answer of 40 MB before it reads the next one', async () => {
    const bytes = 3 * 64 * 1024;
    const piece = Buffer.from(Buffer.alloc(bytes, 'p').toString('base64'));
    const times = Math.ceil((40 * 1024 * 1024) / piece.length);
    const written: number[] = [];
    const body = async function* () {
      yield Buffer.from('{"data":[{"b64_json":"');
      for (let at = 0; at < times; at += 1) {
        yield piece;
        const [name] = await readdir(folder);
        written.push((await stat(join(folder, name!))).size);
      }
      yield Buffer.from('"}]}');
    };
    const large = openLarge({
      manifest: { title: 'Demo', api: 'https://demo.example' },
      outbound: {
        stream: async (url) => ({
          status: 200,
          headers: new Headers({ 'content-type': 'application/json' }),
          url,
          body: body(),
          cancel() {},
        }),
      },
      folder,
      clock: systemClock,
      values: {},
      secrets: [],
    });
    const { data } = await large('/images', Pictures, { creates: true });
    expect(data[0]!.b64_json.size).toBe(times * bytes);
    expect(written).toEqual([...Array(times).keys()].map((at) => (at + 1) * bytes));
  });
});

/** Ends the connection in the middle of the body. */
function cutAfter(body: string, at: number): void {
  receiver.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) });
    response.write(body.slice(0, at), () => response.destroy());
  };
}
