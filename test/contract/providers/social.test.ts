import { describeProviders } from '../../support/peers/provider-suite.ts';
import { socialSuite } from '../../support/peers/social-suite.ts';

// Networks with a server of their own in the tests (`social-servers.test.ts`) show here only what that does not ask.
await describeProviders(socialSuite, {
  without: ['sandbox', 'nostr', 'bluesky'],
  beyond: ['prepare', 'poll', 'plugs'],
});
