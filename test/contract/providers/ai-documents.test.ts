import { describe, expect, test } from '@jest/globals';
import type { AiFixture } from '../../fixtures/providers/ai/_ai.ts';
import { faultsOf, openApi, type Operation, smithy } from '../../support/peers/api-operations.ts';

// Every request of a provider's fixture, which the adapter sends field by field, against the official description of it.

interface Described {
  id: string;
  document: string;
  /** Requests to its host are the document's. */
  base: string;
  /** Default: the document is of OpenAPI. */
  operations?: (document: string) => Operation[] | undefined;
  /** What the document lacks or has otherwise, and why it is asked all the same. */
  beyond?: Readonly<Record<string, string>>;
}
const PROVIDERS: readonly Described[] = [
  { id: 'openai', document: 'openai.json', base: 'https://api.openai.com/v1' },
  { id: 'openrouter', document: 'openrouter.yaml', base: 'https://openrouter.ai/api/v1' },
  { id: 'togetherai', document: 'togetherai.yaml', base: 'https://api.together.ai/v1' },
  { id: 'mistral', document: 'mistral.yaml', base: 'https://api.mistral.ai' },
  {
    id: 'cohere',
    document: 'cohere.yaml',
    base: 'https://api.cohere.com',
    beyond: {
      'POST /v2/chat: /response_format must match exactly one schema in oneOf {"passingSchemas":[0,1]}':
        'its kinds differ by a discriminator alone, which JSON Schema does not know',
    },
  },
  {
    id: 'bedrock',
    document: 'bedrock/bedrock-runtime-2023-09-30.json',
    base: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    operations: smithy,
  },
  {
    id: 'bedrock',
    document: 'bedrock/bedrock-2023-04-20.json',
    base: 'https://bedrock.us-east-1.amazonaws.com',
    operations: smithy,
  },
];

/** A matcher of the fixture stands for some text. */
const plain = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('asymmetricMatch' in value) return 'some text';
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
};

describe.each(PROVIDERS)('$id by $document', ({ id, document, base, operations = openApi, beyond = {} }) => {
  const described = operations(document);
  (described ? test : test.skip)(`is asked as ${document} says`, async () => {
    const fixture = ((await import(`../../fixtures/providers/ai/${id}.ts`)) as { default: AiFixture }).default;
    const asked = fixture.cases
      .flatMap(({ exchanges }) => exchanges)
      .filter(({ asks }) => new URL(asks.url).origin === new URL(base).origin);
    expect(asked.length).toBeGreaterThan(1);
    const faults = new Set(
      asked.flatMap(({ asks, says }) => faultsOf(described!, base, { ...asks, json: plain(asks.json) }, says)),
    );
    expect([...faults].filter((fault) => !(fault in beyond))).toEqual([]);
    expect(Object.keys(beyond).filter((fault) => !faults.has(fault))).toEqual([]);
  });
});
