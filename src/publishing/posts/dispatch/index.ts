export * from './attempts.ts';
export { waitBehindPosts } from './behind.ts';
export * from './channel-calls.ts';
export * from './drain.ts';
export * from './missed.ts';
export * from './preparations.ts';
export * from './unsettled.ts';
