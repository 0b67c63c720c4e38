export * from './admit.ts';
export * from './change.ts';
export * from './plan.ts';
export * from './preflight.ts';
export * from './prepare.ts';
export * from './retry.ts';
