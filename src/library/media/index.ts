export { Attribution } from './attribution.ts';
export type { StockItem } from './import-item.ts';
export type { MediaItem } from './post-media.ts';
export { FileShape, PublicFile, presentPublicFile } from './present.ts';
export { plainLine, urlOfKey } from './rules.ts';
export { type Kept, type Media, type MediaOptions, openMedia } from './service.ts';
