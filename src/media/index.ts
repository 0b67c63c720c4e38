export { FileShape, PublicFile, presentPublicFile } from './present.ts';
export { type Kind } from './rules.ts';
export { type Information, type Media, type MediaItem, type MediaOptions, openMedia, type Served } from './service.ts';
export type { Filter } from './store.ts';
