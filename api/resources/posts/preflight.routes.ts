import { preflightRoute } from './preflight.handlers.ts';

export default [preflightRoute('/posts/preflight', ['session'])];
