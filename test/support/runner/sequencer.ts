import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer') as typeof import('@jest/test-sequencer');
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

/** Their processes wait more than they compute: for silence to pass, for restarts, for what is due. */
const WAITING = /\/test\/(chaos|e2e)\//;
/** A year of one process, whose answers wait for each other: nothing else takes as long. */
const LONGEST = '/test/e2e/year.test.ts';
/** It takes both cores, as long as it has them. */
const SIMULATION = '/test/sim/';

/**
 * The `testSequencer` of jest.config.js: files that wait spread over the others, each kind in jest's own order, the
 * longest first and the simulation last. By that order alone, which begins with large files, those that wait come last,
 * and leave the cores idle.
 */
export default class Spread extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const sorted = await super.sort(tests);
    const last = sorted.filter(({ path }) => path.includes(SIMULATION));
    const isLongest = ({ path }: Tests[number]) => Number(path.endsWith(LONGEST));
    const waiting = sorted.filter(({ path }) => WAITING.test(path)).toSorted((a, b) => isLongest(b) - isLongest(a));
    const others = sorted.filter((one) => !last.includes(one) && !waiting.includes(one));
    const each = Math.ceil(others.length / Math.max(1, waiting.length));
    const spread = waiting.flatMap((one, n) => [one, ...others.slice(n * each, (n + 1) * each)]);
    return waiting.length === 0 ? sorted : [...spread, ...last];
  }
}
