import { expect, test } from '@jest/globals';
import { CALL_MS, settles } from '../../../../src/publishing/posts/rules.ts';
import { localProviders } from '../../../support/worlds/providers.ts';

// The description of Discord's API has a nonce for messages, and none for posts of a forum.
test('a post for Discord whose answer was lost is sent again only when the first request cannot arrive any more', () => {
  expect(settles(localProviders().resolve('social', 'discord'))).toBeGreaterThan(CALL_MS);
});
