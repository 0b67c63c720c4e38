import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer') as typeof import('@jest/test-sequencer');
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

/** Their processes wait more than they compute: for silence to pass, for restarts, for what is due. */
const WAITING = /\/test\/(chaos|e2e)\//;
/** It takes both cores for minutes. */
const SIMULATION = '/test/sim/';

/**
 * The `testSequencer` of jest.config.js: the simulation first, and files that wait spread over the others, each kind in
 * jest's own order. By that alone, which begins with large files, those that wait come last, and leave the cores idle.
 */
export default class Spread extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const sorted = await super.sort(tests);
    const first = sorted.filter(({ path }) => path.includes(SIMULATION));
    const waiting = sorted.filter(({ path }) => WAITING.test(path));
    const others = sorted.filter((one) => !first.includes(one) && !waiting.includes(one));
    const each = Math.ceil(others.length / Math.max(1, waiting.length));
    const spread = waiting.flatMap((one, n) => [one, ...others.slice(n * each, (n + 1) * each)]);
    return waiting.length === 0 ? sorted : [...first, ...spread];
  }
}
