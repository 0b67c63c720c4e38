import { describe, expect, test } from '@jest/globals';
import type { AiFixture } from '../../fixtures/providers/ai/_ai.ts';
import { faultsOf, openApi } from '../../support/peers/api-operations.ts';

// Every request of a provider's fixture, which the adapter sends field by field, against the official description of it.

interface Described {
  id: string;
  document: string;
  base: string;
  /** What the document lacks or has otherwise, and why it is asked all the same. */
  beyond?: Readonly<Record<string, string>>;
}
const PROVIDERS: readonly Described[] = [
  { id: 'openai', document: 'openai.json', base: 'https://api.openai.com/v1' },
  { id: 'openrouter', document: 'openrouter.yaml', base: 'https://openrouter.ai/api/v1' },
  { id: 'togetherai', document: 'togetherai.yaml', base: 'https://api.together.ai/v1' },
  { id: 'mistral', document: 'mistral.yaml', base: 'https://api.mistral.ai' },
];

/** A matcher of the fixture stands for some text. */
const plain = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('asymmetricMatch' in value) return 'some text';
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
};

describe.each(PROVIDERS)('$id by $document', ({ id, document, base, beyond = {} }) => {
  const described = openApi(document);
  (described ? test : test.skip)(`is asked as ${document} says`, async () => {
    const fixture = ((await import(`../../fixtures/providers/ai/${id}.ts`)) as { default: AiFixture }).default;
    const asked = fixture.cases.flatMap(({ exchanges }) => exchanges);
    expect(asked.length).toBeGreaterThan(5);
    const faults = new Set(
      asked.flatMap(({ asks, says }) => faultsOf(described!, base, { ...asks, json: plain(asks.json) }, says)),
    );
    expect([...faults].filter((fault) => !(fault in beyond))).toEqual([]);
    expect(Object.keys(beyond).filter((fault) => !faults.has(fault))).toEqual([]);
  });
});
