import { describe, test } from '@jest/globals';
import lemmy from '../../../../src/providers/social/lemmy.v1.ts';
import { lemmyFixture } from '../../../fixtures/providers/social/_lemmy.ts';
import { wireChecks } from '../../../support/peers/suites/provider.ts';
import { socialSuite } from '../../../support/peers/suites/social.ts';

describe('Lemmy with version 4 of its API', () => {
  const fixture = lemmyFixture('v4');
  const more = socialSuite.more?.(lemmy, fixture) ?? [];
  for (const check of [...wireChecks(socialSuite, lemmy, fixture), ...more]) test(check.name, check.run);
});
