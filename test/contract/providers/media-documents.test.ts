import { describe, expect, test } from '@jest/globals';
import { MEDIA_DESCRIBED } from '../../fixtures/providers/ai-described.ts';
import { faultsOf } from '../../support/peers/documents/api-operations.ts';
import type { MediaFixture } from '../../support/peers/suites/media.ts';

// Every request of a provider's fixture, which the adapter sends field by field, against the official description of it.

describe.each(MEDIA_DESCRIBED)('$id by $document', ({ id, document, base, operations, beyond = {} }) => {
  const described = operations();
  (described ? test : test.skip)(`is asked as ${document} says`, async () => {
    const fixture = ((await import(`../../fixtures/providers/media/${id}.ts`)) as { default: MediaFixture }).default;
    const asked = fixture.cases
      .flatMap(({ exchanges }) => exchanges)
      .filter(({ asks }) => new URL(asks.url).origin === new URL(base).origin);
    expect(asked.length).toBeGreaterThan(0);
    const faults = new Set(asked.flatMap(({ asks, says }) => faultsOf(described!, base, asks, says)));
    expect([...faults].filter((fault) => !(fault in beyond))).toEqual([]);
    expect(Object.keys(beyond).filter((fault) => !faults.has(fault))).toEqual([]);
  });
});
