export { openShortlinks, type Shortlinks, type ShortlinksOptions } from './service.ts';
export type { CountedLink } from './clicks-store.ts';
