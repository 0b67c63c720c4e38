export * from './attempts.ts';
export * from './drain.ts';
export * from './unsettled.ts';
