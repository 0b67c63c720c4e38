import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { type PartsProtocol, uploadParts, uploadWhole } from '../../../src/providers/kit/protocols/upload/parts.ts';
import type { UploadLine } from '../../../src/providers/kit/protocols/upload/steps.ts';
import { openHttp } from '../../../src/providers/kit/wire/open-http.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { mediaOf } from '../../support/worlds/media-of.ts';

// A file of the library goes into the uploads of the kit as it is.

const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256));
const SAID = { name: 'a.mp4', contentType: 'video/mp4', alt: '' };
const outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
let server: Receiver;
let line: UploadLine;
let waits: number[];

beforeEach(async () => {
  server = await startReceiver();
  waits = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  const http = openHttp({ manifest: { title: 'Demo', api: server.url }, outbound, clock, values: {}, secrets: [] });
  line = { http, clock, timeoutMs: 20_000 };
});
afterEach(async () => await server[Symbol.asyncDispose]());

const parts: PartsProtocol<object> = {
  partBytes: 30_000,
  begin: async () => ({}),
  handle: z.object({}),
  send: (_, { index, body }) => ({ method: 'put', path: `/${index}`, bytes: body }),
  mark: z.unknown().transform(() => ''),
};
const kept = () => ({ saved: undefined, save: async () => {} });

test('a file of the library is uploaded in parts and as a whole, and each byte is read once', async () => {
  const ranges: (readonly [number, number])[] = [];
  const file = await mediaOf(BYTES, SAID, undefined, ({ start, end }) => {
    ranges.push([start, end + 1]);
    return Readable.from([BYTES.subarray(start, end + 1)]);
  });
  await uploadParts(line, parts, file, kept());
  expect(ranges).toEqual([
    [0, 30_000],
    [30_000, 60_000],
    [60_000, 90_000],
    [90_000, 100_000],
  ]);
  expect(Buffer.concat(server.ledger.map(({ body }) => body)).equals(BYTES)).toBe(true);
  await uploadWhole(line, { method: 'put', path: '/whole' }, file, z.unknown());
  expect(ranges.at(-1)).toEqual([0, 100_000]);
  expect(server.ledger.at(-1)!.body.equals(BYTES)).toBe(true);
});

test.each([
  ['is cut', () => new ProviderError('unavailable', 'The bucket hung up')],
  ['no longer takes the login', () => new ProviderError('reauthorize', 'The key was refused')],
  ['ends too early', () => undefined],
])('a storage that %s in the middle of a file leaves the post for another try', async (_, fault) => {
  const read = ({ start }: { start: number }) =>
    Readable.from(
      (function* () {
        yield BYTES.subarray(start, start + 10);
        const error = fault();
        if (error) throw error;
      })(),
    );
  const file = await mediaOf(BYTES, SAID, undefined, read);
  await expect(uploadParts(line, parts, file, kept())).rejects.toMatchObject({ failure: 'unavailable' });
  await expect(
    uploadWhole(line, { method: 'post', path: '/whole', creates: true }, file, z.unknown()),
  ).rejects.toMatchObject({ failure: 'unavailable' });
  expect(server.ledger.filter(({ body }) => body.length === BYTES.length)).toEqual([]);
});
