import { expect } from '@jest/globals';
import { isFull } from '../support/processes/chaos.ts';
import { testOnDapr } from '../support/processes/wave-fault.ts';

// F14: each host ends in order and is started again, one after another, in the middle of a wave.

const HOSTS = isFull ? 4 : 2;

testOnDapr({
  name: 'f14',
  most: 1,
  title: 'the hosts are replaced one after another',
  hosts: HOSTS,
  async breaks(service) {
    for (const index of service.hosts.keys()) {
      const { signal } = await service.end(index);
      expect(signal).toBeNull(); // it has drained by itself
      await service.restart(index);
    }
  },
});
