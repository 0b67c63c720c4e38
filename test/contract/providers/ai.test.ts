import { execFile } from 'node:child_process';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { AI_KINDS, type AiKind, type TextRequest, type CallUsage } from '../../../src/providers/registry/index.ts';
import { microsOf } from '../../../src/providers/kit/declare/cost.ts';
import { priceOf } from '../../../src/providers/ai/_prices.ts';
import { question } from '../../fixtures/providers/ai/_ai.ts';
import { aiFixtures, aiSuite, openUpstream } from '../../support/peers/suites/ai.ts';
import { describeProviders } from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';

await describeProviders(aiSuite, { beyond: AI_KINDS });

test('the thirty of the specification are registered as v1 [PV2]', () => {
  const ids = localProviders().list('ai');
  const wanted =
    'anthropic apertus azure bedrock bitdeer cohere deepinfra deepseek fireworks gateway gmihub google groq kimi lightningai meta-llama minimax mistral nvidia openai openai-compatible openrouter perplexity qwen siliconflow togetherai vertex vultr xai zai'.split(
      ' ',
    );
  expect(ids.map(({ id, version }) => `${id}@${version}`).toSorted()).toEqual(
    wanted.map((id) => `${id}@v1`).toSorted(),
  );
});

test('the catalog tells of each whether it has models of one maker or of many [PV3]', () => {
  const kinds = new Map(
    localProviders()
      .catalog('ai')
      .map(({ providerId, capabilities }) => [providerId, capabilities.kind]),
  );
  const hubs =
    'azure bedrock bitdeer deepinfra fireworks gateway gmihub groq lightningai nvidia openai-compatible openrouter siliconflow togetherai vertex vultr';
  expect([...kinds].flatMap(([id, kind]) => (kind === 'hub' ? [id] : [])).toSorted()).toEqual(hubs.split(' '));
  expect([...kinds.values()].filter((kind) => kind === 'direct')).toHaveLength(14);
});

test('those that nobody could read the documents of are previews, and say why', () => {
  const previews = localProviders()
    .list('ai')
    .filter(({ status }) => status !== 'active');
  expect(previews.map(({ id, setupNotes }) => [id, setupNotes?.includes('A preview:')])).toEqual([
    ['apertus', true],
    ['bitdeer', true],
  ]);
});

test('the check of a key says so where nothing free proves it, and is a proof everywhere else', async () => {
  const unproven = (await aiFixtures()).flatMap(([{ id }, { cases }]) =>
    cases.some(({ operation, result }) => operation === 'check' && !/ is accepted/.test(String(result))) ? [id] : [],
  );
  expect(unproven.toSorted()).toEqual(['bitdeer', 'openai-compatible']);
});

test('the notes of meta-llama say that its API is a preview of the vendor', () =>
  expect(localProviders().resolve('ai', 'meta-llama').setupNotes).toContain('public preview'));

// published prices, in dollars per million tokens, and what so many tokens of input, cached input and output cost
test.each<[string, string, CallUsage, number]>([
  ['openai', 'gpt-5.4-mini', { inputTokens: 1_000_000, outputTokens: 1_000_000 }, 5_250_000],
  ['openai', 'gpt-5.4-mini', { inputTokens: 1_000_000, cachedTokens: 1_000_000 }, 75_000],
  ['openai', 'gpt-5.5', { inputTokens: 100_000, outputTokens: 1_000 }, 530_000],
  ['openai', 'gpt-5.5', { inputTokens: 272_001, outputTokens: 1_000 }, 2_765_010],
  ['openai', 'gpt-5-nano', { inputTokens: 1, outputTokens: 1 }, 1],
  ['openai', 'text-embedding-3-small', { inputTokens: 8_000 }, 160],
  ['anthropic', 'claude-haiku-4-5', { inputTokens: 3_000, outputTokens: 500 }, 5_500],
  ['anthropic', 'claude-sonnet-5', { inputTokens: 10_000, cachedTokens: 8_000, outputTokens: 2_000 }, 25_600],
  ['bedrock', 'amazon.nova-2-lite-v1:0', { inputTokens: 1_000, outputTokens: 200 }, 880],
  ['cohere', 'command-a-03-2025', { inputTokens: 1_000, outputTokens: 200 }, 4_500],
  ['cohere', 'command-r7b-12-2024', { inputTokens: 1_000, outputTokens: 200 }, 68],
  ['deepinfra', 'openai/gpt-oss-120b', { inputTokens: 1_000_000, outputTokens: 10_000 }, 40_900],
  ['deepseek', 'deepseek-v4-pro', { inputTokens: 100_000, cachedTokens: 90_000, outputTokens: 1_000 }, 5_547],
  ['fireworks', 'accounts/fireworks/models/glm-5p2', { inputTokens: 2_000, outputTokens: 1_000 }, 7_200],
  ['gateway', 'anthropic/claude-sonnet-5', { inputTokens: 500, outputTokens: 100 }, 2_000],
  ['gmihub', 'Qwen/Qwen3.7-Max', { inputTokens: 1_000, outputTokens: 1_000 }, 10_000],
  ['google', 'gemini-3.5-flash', { inputTokens: 1_000, outputTokens: 1_000 }, 10_500],
  ['google', 'gemini-flash-latest', { inputTokens: 1_000, outputTokens: 1_000 }, 10_500],
  ['groq', 'llama-3.3-70b-versatile', { inputTokens: 1_000, outputTokens: 1_000 }, 1_380],
  ['kimi', 'kimi-k2.6', { inputTokens: 1_000, cachedTokens: 500, outputTokens: 100 }, 955],
  ['meta-llama', 'muse-spark-1.3', { inputTokens: 1_000, cachedTokens: 400, outputTokens: 200 }, 1_660],
  ['minimax', 'MiniMax-M3', { inputTokens: 600_000, outputTokens: 1_000 }, 362_400],
  ['mistral', 'mistral-small-latest', { inputTokens: 4_000, outputTokens: 500 }, 900],
  ['openrouter', 'google/gemini-3.5-flash', { inputTokens: 100, outputTokens: 100 }, 1_050],
  ['perplexity', 'sonar-pro', { inputTokens: 1_000, outputTokens: 1_000 }, 24_000], // a fee of 6 for 1,000 too
  ['qwen', 'qwen3.7-max', { inputTokens: 1_000, outputTokens: 100 }, 3_250],
  ['togetherai', 'zai-org/GLM-5.2', { inputTokens: 1_000, outputTokens: 1_000 }, 5_800],
  ['vertex', 'gemini-3.1-flash-lite', { inputTokens: 4_000, outputTokens: 1_000 }, 2_500],
  ['xai', 'grok-4.3', { inputTokens: 1_000, outputTokens: 1_000 }, 3_750],
  ['zai', 'glm-4.7-flash', { inputTokens: 1_000, outputTokens: 1_000 }, 0],
])('a call of %s %s with %j costs %d millionths of a dollar', (id, model, usage, micros) =>
  expect(microsOf(priceOf(id, model)!, usage)).toBe(micros),
);

test('each default model has a price, but for these: under a cap they are refused until their owner sets one', () => {
  const without = (...kinds: readonly AiKind[]) =>
    localProviders()
      .list('ai')
      .flatMap(({ id, models }) =>
        kinds.flatMap((kind) => {
          const chosen = models.find((model) => model.kinds.includes(kind))?.id;
          return chosen === undefined || priceOf(id, chosen) ? [] : [`${id}: ${chosen}`];
        }),
      );
  expect(without('text', 'vision')).toEqual(['lightningai: openai/gpt-5']);
  expect(localProviders().resolve('ai', 'lightningai').setupNotes).toContain('in the field Prices');
  // nothing in the product asks for embeddings yet
  expect(without('embedding')).toEqual([
    'bedrock: amazon.titan-embed-text-v2:0',
    'cohere: embed-multilingual-v3.0',
    'deepinfra: BAAI/bge-m3',
    'fireworks: nomic-ai/nomic-embed-text-v1.5',
    'gateway: openai/text-embedding-3-small',
    'openrouter: openai/text-embedding-3-small',
    'qwen: text-embedding-v4',
    'siliconflow: BAAI/bge-m3',
    'togetherai: BAAI/bge-base-en-v1.5',
  ]);
});

test("a model without a price has no estimate, and one with the owner's price has theirs, for the most that it can use", () => {
  const providers = localProviders();
  const adapter = providers.resolve('ai', 'openai');
  const open = (prices?: string) =>
    providers.ai(adapter, { orgId: 'o', values: { apiKey: 'k', ...(prices !== undefined && { prices }) } });
  const request: TextRequest = { ...question('some-model'), maxTokens: 1_000 };
  expect(open().estimate(request)).toBeUndefined();
  expect(open().estimate({ ...request, model: 'constructor' })).toBeUndefined();
  const priced = open('{"some-model":{"input":1,"output":2}}');
  const one = priced.estimate(request)!;
  expect(one.source).toBe('estimate');
  expect(one.micros).toBeGreaterThan(2_000 + 100);
  expect(one.micros).toBeLessThan(2_000 + 1_000);
  const object = priced.estimate({ ...request, schema: { type: 'object' } } as TextRequest)!;
  expect(object.micros).toBeGreaterThan(2 * one.micros + 1_000);
});

test('a question to perplexity is estimated with the fee of its search, and an object with that of two', () => {
  const providers = localProviders();
  const microsFor = (request: TextRequest, prices?: string) =>
    providers
      .ai(providers.resolve('ai', 'perplexity'), { orgId: 'o', values: { apiKey: 'k', ...(prices && { prices }) } })
      .estimate(request)!.micros;
  const TOKENS = '{"sonar": {"input": 1, "output": 1}}';
  const request: TextRequest = { ...question('sonar'), maxTokens: 100 };
  const object = { ...request, schema: { type: 'object' } } as TextRequest;
  expect(microsFor(request) - microsFor(request, TOKENS)).toBe(5_000);
  expect(microsFor(object) - microsFor(object, TOKENS)).toBe(10_000);
});

test.each([
  ['the deployment', { 'team-chat': { input: 7, output: 70 } }, 7 * 12 + 70 * 3],
  ['the model that the answer names', { 'gpt-5.4': { input: 8, output: 80 } }, 8 * 12 + 80 * 3],
  [
    'the deployment, though that model has one too',
    { 'team-chat': { input: 7, output: 70 }, 'gpt-5.4': { input: 8, output: 80 } },
    7 * 12 + 70 * 3,
  ],
])("the owner's price of %s comes before that of the table", async (_, prices, micros) => {
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }];
  const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
  const values = { resourceName: 'market', apiKey: 'k', prices: JSON.stringify(prices) };
  const adapter = localProviders().resolve('ai', 'azure');
  const { ai } = openUpstream(adapter, { values }, { json: { id: 'c1', model: 'gpt-5.4', choices, usage } });
  const { cost } = await ai.text({ ...question('team-chat'), maxTokens: 100 });
  expect(cost).toEqual({ micros, source: 'price_table' });
});

test('an owner has one connection until the values change or are given anew [VE21, VE22]', () => {
  const providers = localProviders();
  const adapter = providers.resolve('ai', 'openai');
  const open = (apiKey: string, orgId = 'o') => providers.ai(adapter, { orgId, values: { apiKey } });
  const first = open('k1');
  expect([open('k1') === first, open('k2') === first, open('k1', 'p') === first]).toEqual([true, false, false]);
  providers.forget({ domain: 'ai', id: 'openai' }, 'o');
  expect(open('k1') === first).toBe(false);
});

test('nothing leaves beside the way out that the line was given', async () => {
  const { connect } = Socket.prototype;
  const { fetch } = globalThis;
  const leaks: string[] = [];
  Socket.prototype.connect = function refuse(...to: unknown[]): never {
    leaks.push(JSON.stringify(to[0]));
    throw new Error('refused by the test');
  };
  globalThis.fetch = async (input) => {
    leaks.push(String(input instanceof Request ? input.url : input));
    throw new Error('refused by the test');
  };
  const asked: string[] = [];
  try {
    for (const [adapter, fixture] of await aiFixtures())
      for (const operation of ['text', 'stream', 'object', 'embed']) {
        const one = fixture.cases.find((each) => each.operation === operation && each.name === undefined);
        if (!one) continue;
        const { ai, up } = openUpstream(adapter, fixture, one.exchanges.at(-1)!.says);
        await aiSuite.operations[operation]!(ai, one.input).catch(() => undefined);
        asked.push(...up.asked);
      }
  } finally {
    Socket.prototype.connect = connect;
    globalThis.fetch = fetch;
  }
  expect(leaks).toEqual([]);
  expect(asked.length).toBeGreaterThan(90);
});

const SCRIPT = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name) loaded.add(name);
    return next(url, context);
  },
});
const { openProviders } = await import('./src/providers/registry/index.ts');
const { systemClock } = await import('./src/platform/kernel/index.ts');
const refuse = async () => { throw new Error('no way out'); };
const providers = openProviders({ outbound: { fetch: refuse, stream: refuse }, clock: systemClock, sandboxEnabled: false });
const open = (adapter) => providers.ai(adapter, { orgId: null, values: { apiKey: 'k', region: 'us-east-1', resourceName: 'r', baseUrl: 'https://a.example' } });
for (const adapter of providers.list('ai')) open(adapter);
const ours = () => [...loaded].filter((name) => name.startsWith('@ai-sdk/')).toSorted();
console.log(JSON.stringify(ours()));
const request = { model: 'm', turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }], maxTokens: 1 };
await open(providers.resolve('ai', 'groq')).text(request).catch(() => {});
console.log(JSON.stringify(ours()));
`;
test('opening every provider loads no client of a protocol; the first question loads its own', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT]);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([[], ['@ai-sdk/openai-compatible', '@ai-sdk/provider']]);
});
