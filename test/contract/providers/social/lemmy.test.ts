import { describe, test } from '@jest/globals';
import lemmy from '../../../../src/providers/social/lemmy.v1.ts';
import { lemmyFixture } from '../../../fixtures/providers/social/_lemmy.ts';
import { wireChecks } from '../../../support/peers/provider-suite.ts';
import { socialSuite } from '../../../support/peers/social-suite.ts';

describe('Lemmy with version 4 of its API', () => {
  const fixture = lemmyFixture('v4');
  const more = socialSuite.more?.(lemmy, fixture) ?? [];
  for (const check of [...wireChecks(socialSuite, lemmy, fixture), ...more]) test(check.name, check.run);
});
