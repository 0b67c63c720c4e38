export { deleteFeedsOf, feedNamesOf } from './store.ts';
export { type Calendar, openCalendar, type OpenFeed } from './service.ts';
