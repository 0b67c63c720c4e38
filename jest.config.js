const outside = ['/node_modules/', '/test/peers/', '/.data/'];
const project = (displayName, testMatch, { without = [], ...more } = {}) => ({
  displayName,
  testMatch,
  testRunner: '<rootDir>/test/support/runner/main.ts',
  transform: {}, // Node reads TypeScript
  testPathIgnorePatterns: [...outside, ...without],
  modulePathIgnorePatterns: ['<rootDir>/test/peers/', '<rootDir>/clients/typescript/generator/', '<rootDir>/.data/'],
  ...more,
});
const services = {
  globalSetup: '<rootDir>/test/support/setup.ts',
  globalTeardown: '<rootDir>/test/support/teardown.ts',
};
const BOUNDARIES = 'test/contract/boundaries.test.ts';

/** `npm test` runs all of them; `npm test -- --selectProjects unit` chooses. */
export default {
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/runner/sequencer.ts',
  // a worker keeps what its files left behind
  workerIdleMemoryLimit: '1GB',
  projects: [
    project('unit', [
      '<rootDir>/{src,actors,api,clients,sandbox,dapr,scripts}/**/*.test.ts',
      `<rootDir>/${BOUNDARIES}`,
    ]),
    project('integration', ['<rootDir>/test/integration/**/*.test.ts'], services),
    project('contract', ['<rootDir>/test/contract/**/*.test.ts'], { ...services, without: [BOUNDARIES] }),
    project('e2e', ['<rootDir>/test/e2e/**/*.test.ts'], services),
    project('sim', ['<rootDir>/test/sim/**/*.test.ts'], services),
    project('chaos', ['<rootDir>/test/chaos/**/*.test.ts'], services),
  ],
};
