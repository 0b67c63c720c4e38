export { openPages, type WebPage, type PageRead, type Pages } from './service.ts';
