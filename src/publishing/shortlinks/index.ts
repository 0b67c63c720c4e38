export { openShortlinks, type Shortlinks, type ShortlinksOptions } from './service.ts';
export type { Counted } from './store.ts';
