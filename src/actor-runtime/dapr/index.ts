export { type DaprEngine, type DaprEngineOptions, openDaprEngine } from './engine.ts';
export { checkProbe, PROBE, type Probe } from './probe.ts';
