import { describe, expect, test } from '@jest/globals';
import { discovery, faultsOf, openApi, type Operation, smithy } from '../../support/peers/api-operations.ts';
import type { MediaFixture } from '../../support/peers/media-suite.ts';

// Every request of a provider's fixture, which the adapter sends field by field, against the official description of it.

interface Described {
  id: string;
  document: string;
  /** Requests to its host are the document's. */
  base: string;
  operations: () => Operation[] | undefined;
  /** What the document lacks or has otherwise, and why it is asked all the same. */
  beyond?: Readonly<Record<string, string>>;
}
const PROVIDERS: readonly Described[] = [
  {
    id: 'openai',
    document: 'openai.json',
    base: 'https://api.openai.com/v1',
    operations: () => openApi('openai.json'),
    beyond: {
      'POST /images/edits: unknown field image[]': 'the name of a list in a form, as in the examples beside the schema',
      'POST /images/edits: missing field image': 'it is there as a list',
      'POST /audio/transcriptions: unknown field timestamp_granularities[]': 'the same, and in the examples',
    },
  },
  {
    id: 'openrouter',
    document: 'openrouter.yaml',
    base: 'https://openrouter.ai/api/v1',
    operations: () => openApi('openrouter.yaml'),
  },
  {
    id: 'togetherai',
    document: 'togetherai.yaml',
    base: 'https://api.together.ai/v1',
    operations: () => openApi('togetherai.yaml'),
  },
  {
    id: 'deepgram',
    document: 'deepgram.yml',
    base: 'https://api.deepgram.com',
    operations: () => openApi('deepgram.yml'),
  },
  {
    id: 'elevenlabs',
    document: 'elevenlabs.json',
    base: 'https://api.elevenlabs.io',
    operations: () => openApi('elevenlabs.json'),
  },
  {
    id: 'bedrock',
    document: 'bedrock/bedrock-runtime-2023-09-30.json',
    base: 'https://bedrock-runtime.us-west-2.amazonaws.com',
    operations: () => smithy('bedrock/bedrock-runtime-2023-09-30.json'),
  },
  {
    id: 'bedrock',
    document: 'bedrock/bedrock-2023-04-20.json',
    base: 'https://bedrock.us-west-2.amazonaws.com',
    operations: () => smithy('bedrock/bedrock-2023-04-20.json'),
  },
  {
    id: 'vertex',
    document: 'vertex/texttospeech__v1.json',
    base: 'https://texttospeech.googleapis.com',
    operations: () => discovery('vertex/texttospeech__v1.json'),
  },
];

describe.each(PROVIDERS)('$id by $document', ({ id, document, base, operations, beyond = {} }) => {
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
