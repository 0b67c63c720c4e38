import { describe, expect, test } from '@jest/globals';
import type { LanguageModel } from '../kit/protocols/language-models.ts';
import { callsOf } from './_calls.ts';
import type { AiLine, TextRequest } from './_contract.ts';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finishReason = { unified: 'stop', raw: 'stop' } as const;
/** Answers its own name. */
const modelNamed = (id: string) =>
  ({
    doGenerate: async () => ({ content: [{ type: 'text', text: id }], finishReason, usage }),
  }) as unknown as LanguageModel; // what is called of it

describe('callsOf', () => {
  test('makes a model once for calls that follow each other', async () => {
    const made: LanguageModel[] = [];
    const line = { webFetch: () => () => Promise.reject(new Error('Nothing is sent')) } as unknown as AiLine; // nothing else of it is used
    const calls = callsOf(line, {
      title: 'Demo',
      objects: () => 'words',
      open: async () => ({ language: (id) => made[made.push(modelNamed(id)) - 1]! }),
    });
    const ask = async (model: string) => {
      const request: TextRequest = { model, turns: [], maxTokens: 1 };
      return (await calls.text(request)).text;
    };
    expect([await ask('a'), await ask('a'), await ask('b'), await ask('b')]).toEqual(['a', 'a', 'b', 'b']);
    expect(made).toHaveLength(2);
  });
});
