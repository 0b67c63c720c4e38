const transform = { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } }] };
const base = { extensionsToTreatAsEsm: ['.ts'], transform, testPathIgnorePatterns: ['/node_modules/', '/test/peers/'], modulePathIgnorePatterns: ['<rootDir>/test/peers/', '<rootDir>/.data/'] };
const project = (displayName, testMatch, more = {}) => ({ ...base, displayName, testMatch, ...more });
const withServices = { globalSetup: '<rootDir>/test/support/setup.ts', globalTeardown: '<rootDir>/test/support/teardown.ts' };

/** `npm test` runs all of them; `--selectProjects unit` and so on choose. */
export default {
  testTimeout: 60_000,
  projects: [
    project('unit', ['<rootDir>/{src,actors,api,sandbox,dapr,scripts}/**/*.test.ts']),
    project('integration', ['<rootDir>/test/integration/**/*.test.ts'], withServices),
    project('contract', ['<rootDir>/test/contract/**/*.test.ts'], withServices),
    project('e2e', ['<rootDir>/test/e2e/**/*.test.ts'], withServices),
    project('chaos', ['<rootDir>/test/chaos/**/*.test.ts'], withServices),
  ],
};
