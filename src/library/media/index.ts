export { Attribution } from './attribution.ts';
export { Generated } from './generated.ts';
export type { StockItem } from './import-item.ts';
export type { MediaItem } from './post-media.ts';
export { plainLine, urlOfKey } from './rules.ts';
export type { AddedFile } from './additions.ts';
export type { LibraryFile, MediaOptions } from './deps.ts';
export { type MediaRoom, openMedia } from './service.ts';
