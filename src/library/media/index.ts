export { Attribution } from './attribution.ts';
export type { StockItem } from './import-item.ts';
export type { MediaItem } from './post-media.ts';
export { plainLine, urlOfKey } from './rules.ts';
export { type Kept, type LibraryFile, type Media, type MediaOptions, openMedia } from './service.ts';
