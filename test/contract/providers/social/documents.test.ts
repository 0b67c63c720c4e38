import { describe, expect, test } from '@jest/globals';
import { NETWORKS_DESCRIBED } from '../../../fixtures/providers/social-described.ts';
import { faultsOf } from '../../../support/peers/documents/api-operations.ts';
import type { SocialFixture } from '../../../support/peers/suites/social.ts';

// Every request of a network's fixture, which the adapter sends field by field, against the official description of it.

describe.each(NETWORKS_DESCRIBED)('$id by $document at $base', ({ id, document, base, operations, beyond = {} }) => {
  const described = operations();
  (described ? test : test.skip)(`is asked as ${document} says`, async () => {
    const fixture = ((await import(`../../../fixtures/providers/social/${id}.ts`)) as { default: SocialFixture })
      .default;
    const asked = fixture.cases
      .flatMap(({ exchanges }) => exchanges)
      .filter(({ asks }) => asks.url.startsWith(`${base}/`));
    expect(asked.length).toBeGreaterThan(0);
    const faults = new Set(asked.flatMap(({ asks, says }) => faultsOf(described!, base, asks, says)));
    expect([...faults].filter((fault) => !(fault in beyond))).toEqual([]);
    expect(Object.keys(beyond).filter((fault) => !faults.has(fault))).toEqual([]);
  });
});
