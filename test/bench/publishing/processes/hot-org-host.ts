// A process of the product for the benchmark `hot-org`: the embedded engine with the Organization, asked at its door.
import { AppError } from '../../../../src/platform/kernel/index.ts';
import { WITH_BILLING } from '../../../support/worlds/billing.ts';
import { admit, newPost, openNetwork, startPublisher } from '../../../support/worlds/publishing/world.ts';
import { answering } from '../../kit/answering.ts';
import { raceFor } from '../../kit/grants.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
const world = await startPublisher({ url: databaseUrl, network: openNetwork(), env: WITH_BILLING });

const taken = (error: unknown) => {
  if (error instanceof AppError && error.code === 'limit_exceeded') return false;
  throw error;
};
answering({
  race: ({
    orgId,
    channelId,
    callers,
    requests,
  }: {
    orgId: string;
    channelId: string;
    callers: number;
    requests: number;
  }) =>
    raceFor(callers, requests, () =>
      admit(world, orgId, [newPost(channelId, { state: 'DRAFT' })]).then(() => true, taken),
    ),
});
