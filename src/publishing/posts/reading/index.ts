export * from './calendar.ts';
export * from './find.ts';
export * from './find-slot.ts';
export * from './list.ts';
export * from './published.ts';
export * from './revision.ts';
export * from './timeline.ts';
export { listDates } from './occurrences.ts';
