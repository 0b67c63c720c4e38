import { setTimeout as sleep } from 'node:timers/promises';
import { isFull } from '../support/processes/chaos.ts';
import { testOnDapr } from '../support/processes/wave-fault.ts';

// F2: `kill -9` of the sidecar of a host in the middle of a wave; the host stays.

const AWAY_MS = isFull ? [0, 5_000, 20_000] : [0, 5_000];

testOnDapr({
  name: 'f02',
  most: 5,
  title: 'the sidecar of a living host is killed and comes back',
  async breaks(service, random) {
    const index = random.pick(service.hosts.length);
    await service.killSidecar!(index);
    await sleep(AWAY_MS[random.pick(AWAY_MS.length)]!);
    await service.restartSidecar!(index);
  },
});
