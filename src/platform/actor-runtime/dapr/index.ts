export type { DaprEngine, DaprEngineOptions } from './options.ts';
export { openDaprEngine } from './engine.ts';
export { checkProbe } from './probe.ts';
