import { setTimeout as sleep } from 'node:timers/promises';
import { isFull } from '../support/processes/chaos.ts';
import { testOnDapr } from '../support/processes/wave-fault.ts';

// F3: `kill -9` of placement in the middle of a wave.

const AWAY_MS = isFull ? 30_000 : 5_000;

testOnDapr({
  name: 'f03',
  most: 3,
  title: 'placement is killed and away for a while',
  async breaks(service) {
    const placement = service.dapr!.placement();
    placement.signal('SIGKILL');
    await placement.exited;
    await sleep(AWAY_MS);
    await service.dapr!.restartPlacement();
  },
});
