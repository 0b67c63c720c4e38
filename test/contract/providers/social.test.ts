import { describeProviders } from '../../support/peers/provider-suite.ts';
import { socialSuite } from '../../support/peers/social-suite.ts';

// Nostr speaks sockets: its server in the tests (`social-servers`) and `nostr-talk.test.ts` show it.
await describeProviders(socialSuite, {
  without: ['sandbox', 'nostr'],
  beyond: ['prepare', 'poll', 'plugs'],
});
