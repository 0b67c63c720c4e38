export { type DaprEngine, type DaprEngineOptions, openDaprEngine } from './engine.ts';
export { checkProbe } from './probe.ts';
