import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../src/platform/outbound/index.ts';
import { openFetch } from '../../../src/providers/kit/wire/open-fetch.ts';
import { openHttp } from '../../../src/providers/kit/wire/open-http.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';

const MIB = 1024 * 1024;
let receiver: Receiver;
let outbound: Outbound;
let size: number;
beforeAll(async () => {
  outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  receiver = await startReceiver({
    answer: (response) => void response.writeHead(200).end(`"${'a'.repeat(size - 2)}"`),
  });
});
afterAll(async () => {
  await outbound[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
const httpTo = () =>
  openHttp({ manifest: { title: 'Demo', api: receiver.url }, outbound, clock: systemClock, values: {}, secrets: [] });

test('an answer in memory has at most 1 MiB, by any tool', async () => {
  size = MIB;
  expect((await httpTo().get('/', z.string())).length).toBe(MIB - 2);
  expect((await (await openFetch(outbound, 20_000)(receiver.url, { method: 'GET', headers: {} })).text()).length).toBe(
    MIB,
  );
  expect((await outbound.fetch(receiver.url)).body.length).toBe(MIB);
  size = MIB + 1;
  await expect(httpTo().get('/', z.string())).rejects.toMatchObject({
    failure: 'unavailable',
    message: expect.stringContaining('longer than 1048576 bytes'),
  });
  await expect(openFetch(outbound, 20_000)(receiver.url, { method: 'GET', headers: {} })).rejects.toMatchObject({
    failure: 'too_large',
  });
  await expect(outbound.fetch(receiver.url)).rejects.toMatchObject({ failure: 'too_large' });
});

test('a call may declare a greater limit', async () => {
  size = 2 * MIB;
  expect((await httpTo().get('/', z.string(), { answerBytes: 2 * MIB })).length).toBe(2 * MIB - 2);
  size += 1;
  await expect(httpTo().get('/', z.string(), { answerBytes: 2 * MIB })).rejects.toMatchObject({
    failure: 'unavailable',
  });
});
