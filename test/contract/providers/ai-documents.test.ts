import { describe, expect, test } from '@jest/globals';
import type { AiFixture } from '../../fixtures/providers/ai/_ai.ts';
import { AI_DESCRIBED } from '../../fixtures/providers/ai-described.ts';
import { faultsOf } from '../../support/peers/documents/api-operations.ts';

// Every request of a provider's fixture, which the adapter sends field by field, against the official description of it.

/** A matcher of the fixture stands for some text. */
const plain = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('asymmetricMatch' in value) return 'some text';
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
};

describe.each(AI_DESCRIBED)('$id by $document', ({ id, document, base, operations, beyond = {} }) => {
  const described = operations();
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
