import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../platform/kernel/index.ts';
import type { MediaOperation } from '../registry/index.ts';
import { KEY, NOW, PROMPT } from '../../../test/support/peers/suites/media.ts';
import { sharedWire } from '../../../test/support/peers/suites/provider.ts';
import { localProviders } from '../../../test/support/worlds/providers.ts';

const HOUR = 3_600_000;

describe('a look-up that repeats the submit with its key', () => {
  test.each<[string, MediaOperation, string, number]>([
    ['heygen', 'video', 'an hour after the day for which it keeps keys', 25 * HOUR],
    ['heygen', 'speech', 'for what is answered at once', 0],
    ['gateway', 'video', 'after the hour for which keys are trusted', HOUR + 1],
    ['gateway', 'image', 'for what is answered at once', 0],
  ])('asks %s nothing for %s %s', async (id, operation, _, ageMs) => {
    const wire = await sharedWire();
    const clock = { ...systemClock, now: () => new Date(NOW.getTime() + ageMs) };
    await using providers = localProviders({ clock, outbound: wire.outbound });
    wire.plays([]);
    const service = providers.mediaService(providers.resolve('media', id), {
      orgId: null,
      values: { apiKey: 'the-key' },
    });
    const model = id === 'gateway' ? 'some/model' : null;
    const request = { operation, model, prompt: PROMPT, seconds: 5, sources: [], key: KEY };
    expect(await service.find!(request, NOW)).toBeUndefined();
    expect(wire.asked).toEqual([]);
  });
});
