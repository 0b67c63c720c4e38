export { type Link, withShortLinks } from './rules.ts';
export { presentClicks } from './present.ts';
export { openShortlinks, type Shortlinks, type ShortlinksOptions } from './service.ts';
