export { OUTCOMES, type Outcome, Treatment } from './rules.ts';
export { type Sandbox, type SandboxOptions, startSandbox } from './server.ts';
