import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../support/wire/played.ts';
import { networks } from '../support/worlds/campaign-targets.ts';
import { type Campaign, startCampaign } from '../support/worlds/campaign.ts';

// Everything that users run, and every network as its documents say: one create for all of them.

const WITHIN_MS = 30_000;
const FAULTS: readonly Fault[] = ['hang-up', 'rate-limit', 'server-error'];

async function publish(campaign: Campaign): Promise<void> {
  const { status, body } = await campaign.publish();
  expect([status, body]).toEqual([201, networks.map(() => expect.anything())]);
  const end = Date.now() + WITHIN_MS;
  while ((await campaign.hurry()) > 0 && campaign.faults.length === 0 && Date.now() < end) await sleep(100);
  expect(campaign.faults).toEqual([]);
  expect(campaign.refused).toEqual([]);
  expect([...campaign.reached]).toEqual(['127.0.0.1']);
}

test('one campaign is published once on every network, with the settings of each', async () => {
  await using campaign = await startCampaign();
  await publish(campaign);
  const outcomes = await campaign.outcomes();
  const seen = campaign.targets.map((one) => ({
    ...outcomes.get(one.adapter.id),
    made: campaign.madeBy(one).made,
    left: campaign.leftOf(one),
  }));
  const wanted = campaign.targets.map(async (one) => ({
    ...(await campaign.publishedAs(one, one.result)),
    made: campaign.madeBy(one).wanted,
    left: [],
  }));
  expect(seen).toEqual(await Promise.all(wanted));
});

test.each(FAULTS.map((fault, n) => [fault, n] as const))(
  'one fault at each network, %s at the first, neither loses its post nor publishes it twice',
  async (_, first) => {
    const faultOf = (id: string): Fault => FAULTS[(networks.indexOf(id) + first) % FAULTS.length]!;
    await using campaign = await startCampaign(faultOf);
    await publish(campaign);
    const outcomes = await campaign.outcomes();
    const seen = campaign.targets.map((one) => ({
      ...outcomes.get(one.adapter.id),
      made: campaign.madeBy(one).made,
    }));
    const wanted = campaign.targets.map(async (one) => {
      const { id, once } = one.adapter;
      const made = campaign.madeBy(one).wanted;
      const isLimit = faultOf(id) === 'rate-limit';
      const isLost = once === 'at-most-once' && !isLimit;
      const outcome = await campaign.publishedAs(one, isLimit ? one.result : one.found);
      if (isLimit) return { ...outcome, kinds: ['created', 'claimed', 'rate_limited', 'claimed', 'published'], made };
      return {
        ...outcome,
        ...(isLost && { state: 'ERROR', detail: 'unconfirmed', releaseId: null, releaseUrl: null }),
        kinds: ['created', 'claimed', 'unconfirmed', isLost ? 'failed' : 'reconciled'],
        made,
      };
    });
    expect(seen).toEqual(await Promise.all(wanted));
  },
);
