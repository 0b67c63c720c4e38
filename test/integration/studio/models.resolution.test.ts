import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { type Clock, ProviderError, type ProviderFailure, systemClock } from '../../../src/platform/kernel/index.ts';
import { scriptedAi } from '../../support/worlds/studio/scripted-ai.ts';
import { studioWorld } from '../../support/worlds/studio/world.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';

const acme = scriptedAi('acme');
const globex = scriptedAi('globex', {
  models: [
    { id: 'globex-1', kinds: ['text'] },
    { id: 'globex-e', kinds: ['embedding'] },
  ],
});
const silence = gate();
let lists = 0;
const mute = scriptedAi('mute', { listModels: () => silence.passed.then(() => []) });
const broken = scriptedAi('broken', { listModels: () => Promise.reject(new ProviderError('unavailable', 'down')) });
const listing = scriptedAi('listing', {
  listModels: () => {
    lists += 1;
    return Promise.resolve([
      { id: 'listing-9', kinds: ['text'] },
      { id: 'listing-e', kinds: ['embedding'] },
    ]);
  },
});
/** Those who wait for a list: the time of each is over when the test says so. */
const waiting: (() => void)[] = [];
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) =>
    ms === 3_000 ? new Promise<void>((late) => waiting.push(late)) : systemClock.sleep(ms, signal),
};
const providers = [acme, globex, mute, broken, listing];
const world = studioWorld(
  providers.map(({ adapter }) => adapter),
  { clock },
);

const write = (body: object = {}) =>
  world.ann.client.post('/ai/text', { action: 'rewrite', content: 'Hello', ...body });
/** Who wrote it, and by which model it was asked for. */
const writer = async (body: object = {}) => {
  const { status, body: told, text } = await write(body);
  return status === 200 ? `${told.providerId} ${told.content}` : text;
};

describe('who writes a text', () => {
  test('is nobody where no provider is set up: 400 says what to set up [S194]', async () => {
    expect(await write()).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', message: expect.stringMatching(/No provider for text is set up.*domain ai/) },
    });
  });

  test.each([
    [{ providerId: 'nobody' }, 'providerId', 'invalid_value'],
    [{ providerId: 'globex' }, 'providerId', 'not_configured'],
    [{ providerId: 'acme', model: 'globex-1' }, undefined, undefined],
    [{ model: 'acme-0' }, undefined, undefined],
  ])('%j names somebody', async (body, field, rule) => {
    await world.setUp('acme', { isPriced: false });
    const answer = await write(body);
    if (field === undefined) expect(answer.status).toBe(200); // the provider says whether it has such a model
    else expect(answer).toMatchObject({ status: 400, body: { errors: [{ field, rule }] } });
  });

  test('is the default for the purpose, else the default, else the oldest, else that of the instance', async () => {
    await world.setUpForAll('listing');
    expect(await writer()).toBe('listing By listing-1');
    await world.setUp('globex');
    await world.setUp('acme');
    expect(await writer()).toBe('globex By globex-1');
    await world.db.sql`update provider_settings set is_default = true where provider_id = 'acme'`;
    expect(await writer()).toBe('acme By acme-1');
    await world.setUp('mute', { options: { defaultFor: 'vision, text', textModel: 'mute-7' } });
    expect(await writer()).toBe('mute By mute-7');
    expect(await writer({ providerId: 'globex' })).toBe('globex By globex-1');
    expect(await writer({ model: 'acme-1' })).toBe('acme By acme-1');
    expect(await writer({ providerId: 'listing' })).toBe('listing By listing-1');
  });

  test('is somebody who can: a model that cannot is refused before the call', async () => {
    await world.setUp('globex');
    const before = globex.asked.length;
    expect(await write({ model: 'globex-e' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'model', rule: 'unsupported', message: 'model: globex-e of Globex cannot do text' }] },
    });
    expect(await world.ann.client.post('/ai/text', { action: 'alt_text', fileId: 'a' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'model', message: 'model: Globex has none for vision' }] },
    });
    expect(globex.asked.length).toBe(before);
  });

  test.each([
    ['listing-9', 200],
    ['listing-e', 400],
    ['listing-0', 400],
    ['own-1', 200],
  ])('asks a provider that lists its models for %s: %i', async (model, status) => {
    await world.setUp('listing', { model: 'own-1' });
    expect((await write({ providerId: 'listing', model })).status).toBe(status);
  });

  test.each<[ProviderFailure, boolean]>([
    ['unavailable', true],
    ['rate_limited', true],
    ['exhausted', true],
    ['reauthorize', true],
    ['rejected', false],
    ['lost', false],
    ['unsupported', false],
  ])('is the next one after the failure %s: %s', async (failure, goesOn) => {
    await world.setUp('acme');
    await world.setUp('globex');
    const usual = acme.reply;
    acme.reply = () => {
      throw new ProviderError(failure, 'Acme says no');
    };
    const before = globex.asked.length;
    const answer = await write();
    acme.reply = usual;
    if (goesOn) expect(answer).toMatchObject({ status: 200, body: { providerId: 'globex', content: 'By globex-1' } });
    else
      expect(answer).toMatchObject({
        status: 502,
        body: { code: 'provider_failed', provider: 'acme', failure, message: 'Acme says no' },
      });
    expect(globex.asked.length - before).toBe(goesOn ? 1 : 0);
    // nothing is reserved any more, and money is counted for the lost call alone
    const balance = (await world.ledger()).reduce(
      (sum, { providerId, micros }) => sum + (providerId === 'acme' ? micros : 0),
      0,
    );
    expect(balance > 0).toBe(failure === 'lost');
  });

  test('is nobody where all fail: 502 is that of the first, with its wait [S194]', async () => {
    await world.setUp('acme');
    await world.setUp('globex');
    const [usual, other] = [acme.reply, globex.reply];
    acme.reply = () => {
      throw new ProviderError('rate_limited', 'Too fast', { retryAfterMs: 7_000 });
    };
    globex.reply = () => {
      throw new ProviderError('exhausted', 'No credit');
    };
    const answer = await write();
    [acme.reply, globex.reply] = [usual, other];
    expect(answer).toMatchObject({ status: 502, body: { provider: 'acme', failure: 'rate_limited', retryAfter: 7 } });
    expect(answer.headers.get('retry-after')).toBe('7');
  });
});

describe('a cap at a later provider', () => {
  const capped = (providerId: string) => ({
    providers: [{ domain: 'ai', providerId, dailyCents: 0, monthlyCents: null }],
  });
  /** Acme asks to wait, and what is written comes of those behind it. */
  async function written() {
    const usual = acme.reply;
    acme.reply = () => {
      throw new ProviderError('rate_limited', 'Too fast', { retryAfterMs: 7_000 });
    };
    const answer = await write();
    acme.reply = usual;
    return answer;
  }
  const REFUSALS: [string, { isPriced: boolean }, object][] = [
    ['its cap has no room', { isPriced: true }, capped('globex')],
    ['its model has no price', { isPriced: false }, { dailyCents: 100 }],
  ];

  test.each(REFUSALS)('is passed where %s: the one behind it is asked [S194]', async (_, setting, budget) => {
    await world.setUp('acme');
    await world.setUp('globex', setting);
    await world.setUp('listing');
    await world.ann.client.put('/ai/budget', budget);
    const before = globex.asked.length;
    expect(await written()).toMatchObject({ status: 200, body: { providerId: 'listing' } });
    expect(globex.asked.length).toBe(before);
  });

  test.each(REFUSALS)('leaves the failure of the first where %s, and nobody is behind it [S194]', async (...given) => {
    const [, setting, budget] = given;
    await world.setUp('acme');
    await world.setUp('globex', setting);
    await world.ann.client.put('/ai/budget', budget);
    expect(await written()).toMatchObject({
      status: 502,
      body: { provider: 'acme', failure: 'rate_limited', retryAfter: 7 },
    });
  });

  test('is the answer where it is that of the first, whoever is behind it [S194]', async () => {
    await world.setUp('acme');
    await world.setUp('globex');
    await world.ann.client.put('/ai/budget', capped('acme'));
    expect(await write()).toMatchObject({ status: 402, body: { limit: 'ai_budget', provider: 'acme' } });
  });
});

describe('GET /ai/models', () => {
  test('lists what each provider has; one that hangs or fails keeps its known ones and delays no other [S193]', async () => {
    for (const id of ['mute', 'broken', 'listing', 'globex']) await world.setUp(id);
    await world.setUpForAll('globex');
    await world.setUpForAll('acme');
    lists = 0;
    const asked = async () => (await world.ann.client.get('/ai/models')).body;
    waiting.length = 0;
    const answer = asked();
    await eventually('three lists are asked for', () => lists === 1 && waiting.length === 3);
    await setImmediate(); // who has answered was heard
    for (const late of waiting) late();
    const models = await answer;
    expect(models).toEqual([
      { providerId: 'mute', version: 'v1', model: 'mute-1', kinds: ['text', 'vision'] },
      { providerId: 'broken', version: 'v1', model: 'broken-1', kinds: ['text', 'vision'] },
      { providerId: 'listing', version: 'v1', model: 'listing-9', kinds: ['text'] },
      { providerId: 'listing', version: 'v1', model: 'listing-e', kinds: ['embedding'] },
      { providerId: 'listing', version: 'v1', model: 'listing-1', kinds: ['text', 'vision'] },
      { providerId: 'globex', version: 'v1', model: 'globex-1', kinds: ['text'] },
      { providerId: 'globex', version: 'v1', model: 'globex-e', kinds: ['embedding'] },
      { providerId: 'acme', version: 'v1', model: 'acme-1', kinds: ['text', 'vision'] },
    ]);
    silence.open();
    expect(await asked()).toEqual(models);
    expect(lists).toBe(1); // kept
    expect(JSON.stringify(models)).not.toContain('key');
  });
});
