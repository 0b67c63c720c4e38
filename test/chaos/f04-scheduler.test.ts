import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFull } from '../support/processes/chaos.ts';
import { testOnDapr } from '../support/processes/wave-fault.ts';

// F4: `kill -9` of the scheduler in the middle of a wave; its data are lost with it, so that every reminder is gone.

const AWAY_MS = isFull ? 60_000 : 5_000;

testOnDapr({
  name: 'f04',
  most: 3,
  title: 'the scheduler is killed and comes back without its data',
  async breaks(service) {
    const scheduler = service.dapr!.scheduler();
    scheduler.signal('SIGKILL');
    await scheduler.exited;
    rmSync(join(service.dapr!.logs, 'scheduler'), { recursive: true, force: true });
    await sleep(AWAY_MS);
    await service.dapr!.restartScheduler();
  },
});
