export { type ErasureRequest, type Erased, type Erasure, openErasure } from './erase.ts';
