export { type Calendar, openCalendar, type OpenFeed } from './service.ts';
