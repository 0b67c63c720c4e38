import { describe, expect, test } from '@jest/globals';
import { OutboundError } from '../../platform/outbound/index.ts';
import { question } from '../../../test/fixtures/providers/ai/_ai.ts';
import { openUpstream } from '../../../test/support/peers/suites/ai.ts';
import { localProviders } from '../../../test/support/worlds/providers.ts';

const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }];
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const model = 'openai/gpt-5.4-mini';
const answer = { id: 'gen-7', model, choices, usage };

describe('an answer whose cost is asked for beside it', () => {
  test('waits two seconds and not longer, asks once, and else has the price of the table', async () => {
    const adapter = localProviders().resolve('ai', 'gateway');
    const { up, ai } = openUpstream(adapter, { values: { apiKey: 'k' } }, { json: answer });
    const asked: unknown[] = [];
    up.outbound.fetch = (url, { timeoutMs } = {}) => {
      asked.push([url, timeoutMs]);
      return Promise.reject(new OutboundError('unreachable', 'No answer', { sent: false }));
    };
    const named: string[] = [];
    const { cost } = await ai.text({ ...question(model), maxTokens: 100, named: (id) => void named.push(id) });
    expect(asked).toEqual([['https://ai-gateway.vercel.sh/v1/generation?id=gen-7', 2_000]]);
    expect([cost, named]).toEqual([{ micros: 120, source: 'price_table' }, ['gen-7']]);
  });
});

test('one that tells its cost asks for none, and names the call all the same', async () => {
  const adapter = localProviders().resolve('ai', 'openrouter');
  const { up, ai } = openUpstream(
    adapter,
    { values: { apiKey: 'k' } },
    { json: { ...answer, usage: { ...usage, cost: 0.5 } } },
  );
  up.outbound.fetch = () => Promise.reject(new Error('nothing else was to be asked'));
  const named: string[] = [];
  const { cost } = await ai.text({ ...question(model), maxTokens: 100, named: (id) => void named.push(id) });
  expect([cost, named]).toEqual([{ micros: 500_000, source: 'reply' }, ['gen-7']]);
});

test('one of a provider that cannot be asked later names no call', async () => {
  const adapter = localProviders().resolve('ai', 'openai');
  const { ai } = openUpstream(adapter, { values: { apiKey: 'k' } }, { json: answer });
  const named: string[] = [];
  await ai.text({ ...question('gpt-5.4-mini'), maxTokens: 100, named: (id) => void named.push(id) });
  expect([ai.costOf, named]).toEqual([undefined, []]);
});
