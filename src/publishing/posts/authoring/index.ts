export * from './admit.ts';
export * from './change.ts';
export * from './plan.ts';
export * from './preflight.ts';
export * from './over-limit.ts';
export * from './prepare.ts';
export * from './repeat.ts';
export * from './retry.ts';
