import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { type Receiver, startReceiver } from '../../../../test/support/wire/receiver.ts';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../platform/outbound/index.ts';
import { type HttpOptions, openHttp } from './open-http.ts';

let receiver: Receiver;
let outbound: Outbound;
beforeAll(async () => {
  outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await outbound[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
beforeEach(() => void receiver.ledger.splice(0));

const answers = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => {
  receiver.answer = (response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
};
const open = (manifest: Partial<HttpOptions['manifest']> = {}, options: Partial<Omit<HttpOptions, 'manifest'>> = {}) =>
  openHttp({
    manifest: { title: 'Demo', api: receiver.url, ...manifest },
    outbound,
    clock: systemClock,
    values: {},
    secrets: [],
    ...options,
  });
const anything = z.unknown();

describe('a refusal', () => {
  const errorOf = z.union([
    z
      .object({ status: z.literal(400), error: z.object({ code: z.literal(190) }) })
      .transform(() => 'reauthorize' as const),
    z.object({ status: z.literal(409), body: z.literal('again') }).transform(() => 'unavailable' as const),
  ]);
  test.each([
    [400, { error: { code: 190 } }, 'reauthorize'],
    [403, { error: { code: 190 } }, 'rejected'],
    [409, 'again', 'unavailable'],
    [409, { status: 400, error: { code: 190 } }, 'rejected'],
  ])('is read with its status beside the body: %i %j', async (status, body, failure) => {
    answers(status, body);
    await expect(open({ errorOf }).get('/', anything)).rejects.toMatchObject({ failure });
  });

  test('tells the words of a nested body, without the secrets in them', async () => {
    answers(400, { error: { message: 'The token abc-def is no good' } });
    await expect(open({}, { secrets: ['abc-def'] }).get('/', anything)).rejects.toMatchObject({
      message: 'Demo answered 400: The token *** is no good',
    });
  });

  test.each([
    [429, { retry_after: 1.5 }, {}, 1_500],
    [429, {}, { 'x-ratelimit-reset-after': '3' }, 3_000],
    [503, {}, { 'retry-after': '4' }, 4_000],
    [503, {}, { 'ratelimit-reset': '900' }, undefined],
    [400, {}, { 'retry-after': '4' }, undefined],
  ])('with status %i, the body %j and the headers %j tells how long to wait', async (status, body, headers, wait) => {
    answers(status, body, headers);
    await expect(open().get('/', anything)).rejects.toMatchObject({ retryAfterMs: wait });
  });

  test('for a rate has a wait whatever its status', async () => {
    const usage = { 'x-business-use-case-usage': '{"1":[{"estimated_time_to_regain_access":2}]}' };
    const limited = z.object({ error: z.object({ code: z.literal(32) }) }).transform(() => 'rate_limited' as const);
    for (const [status, field] of [
      [400, 'errorOf'],
      [200, 'errorInside'],
    ] as const) {
      answers(status, { error: { code: 32 } }, usage);
      await expect(open({ [field]: limited }).get('/', anything)).rejects.toMatchObject({
        failure: 'rate_limited',
        retryAfterMs: 120_000,
      });
    }
  });
});
