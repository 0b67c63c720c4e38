import { expect, test } from '@jest/globals';
import { adapters } from '../../../../src/providers/registry/registry.gen.ts';

const written = (network: string, id: string) =>
  adapters.filter((adapter) => adapter.domain === 'social').find((adapter) => adapter.id === network)!.mention!({
    id,
    label: 'Somebody',
  });

// what the search of a network answers as id, and what nobody has as id there
test.each([
  ['mastodon', 'bob@other.example', '@bob@other.example'],
  ['mastodon', 'bob', undefined],
  ['mastodon', 'bob@other.example <b>', undefined],
  ['pixelfed', 'bob@other.example:3000', '@bob@other.example:3000'],
  ['bluesky', 'bob.bsky.social', '@bob.bsky.social'],
  ['bluesky', 'did:plc:bob', undefined],
  [
    'nostr',
    'npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg',
    'nostr:npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg',
  ],
  ['nostr', 'npub1bob', undefined],
])('%s writes the mention of %s as %s', (network, id, text) => expect(written(network, id)).toBe(text));
