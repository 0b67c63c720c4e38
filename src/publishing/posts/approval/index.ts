export * from './decide.ts';
