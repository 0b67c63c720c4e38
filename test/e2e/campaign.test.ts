import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../support/wire/played.ts';
import { type FaultOf, type Faults, networks } from '../support/worlds/publishing/campaign-targets.ts';
import { attemptKinds, type Campaign, startCampaign } from '../support/worlds/publishing/campaign.ts';

// Everything that users run, and every network as its documents say: one create for all of them.

const WITHIN_MS = 45_000;
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

/** Each fault at a third of the networks; the answer lost at all of them, and the post shown late. */
const ROUNDS: readonly (Faults & { title: string; faultOf: FaultOf })[] = [
  ...FAULTS.map((fault, first) => ({
    title: `one fault at each network, ${fault} at the first, neither loses its post nor publishes it twice`,
    faultOf: (id: string) => FAULTS[(networks.indexOf(id) + first) % FAULTS.length]!,
  })),
  {
    title: 'networks that lose an answer and show their post late are not sent it again',
    faultOf: () => 'hang-up',
    lateBy: 2,
  },
];
test.each(ROUNDS)('$title', async ({ faultOf, lateBy = 0 }) => {
  await using campaign = await startCampaign({ faultOf, lateBy });
  await publish(campaign);
  const outcomes = await campaign.outcomes();
  const seen = campaign.targets.map((one) => ({
    ...outcomes.get(one.adapter.id),
    made: campaign.madeBy(one).made,
    left: campaign.hiddenFrom(one).left,
  }));
  const wanted = campaign.targets.map(async (one) => {
    const { id, once } = one.adapter;
    const made = campaign.madeBy(one).wanted;
    const isLimit = faultOf(id) === 'rate-limit';
    const isLost = once === 'at-most-once' && !isLimit;
    const outcome = await campaign.publishedAs(one, isLimit ? one.result : one.found);
    const attempt = attemptKinds(once);
    if (isLimit)
      return { ...outcome, kinds: ['created', ...attempt, 'rate_limited', ...attempt, 'published'], made, left: 0 };
    return {
      ...outcome,
      ...(isLost && { state: 'ERROR', detail: 'unconfirmed', releaseId: null, releaseUrl: null }),
      kinds: [
        'created',
        ...attempt,
        'unconfirmed',
        ...(campaign.hiddenFrom(one).lookUps > 0 ? Array.from({ length: lateBy }, () => 'unconfirmed') : []),
        isLost ? 'failed' : 'reconciled',
      ],
      made,
      left: 0,
    };
  });
  expect(seen).toEqual(await Promise.all(wanted));
  if (lateBy > 0) expect(campaign.targets.filter((one) => campaign.hiddenFrom(one).lookUps > 0)).toHaveLength(20);
});
