export { openEmbeddedBus } from './bus.ts';
export { type EmbeddedEngineOptions, openEmbeddedEngine } from './engine.ts';
