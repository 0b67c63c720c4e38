import { setTimeout as sleep } from 'node:timers/promises';
import { isFull } from '../support/processes/chaos.ts';
import { testOnDapr } from '../support/processes/wave-fault.ts';

// F13: the owner of actors is stopped for longer than others wait for it, and then goes on beside them.

const STILL_MS = isFull ? 20_000 : 12_000;

testOnDapr({
  name: 'f13',
  most: 5,
  title: 'a host stands still until others have taken over, goes on',
  async breaks(service, random) {
    const host = service.hosts[random.pick(service.hosts.length)]!;
    host.signal('SIGSTOP');
    await sleep(STILL_MS);
    host.signal('SIGCONT');
  },
});
