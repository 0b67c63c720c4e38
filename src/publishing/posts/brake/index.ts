export * from './pause.ts';
export * from './resume.ts';
