export { openEmbeddedBus } from './bus.ts';
export { type EmbeddedOptions, openEmbeddedEngine } from './engine.ts';
