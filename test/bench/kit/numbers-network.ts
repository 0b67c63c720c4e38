import type { SocialAdapter } from '../../../src/providers/registry/index.ts';
import sandbox from '../../../src/providers/social/sandbox.v1.ts';

/** Posts of which it tells the counts in one call: those of a channel with 30 need a whole call and a part of one. */
export const AT_ONCE = 20;

/** The sandbox under a name of its own, and with smaller batches: the sandbox itself tells all counts in one call. */
export const numbersNetwork: SocialAdapter = { ...sandbox, id: 'numbers', title: 'Numbers', metricsAtOnce: AT_ONCE };
