export { type CreateOptions, dataOf, openRookery, type Rookery, type RookeryOptions, type Schemas } from './client.ts';
export type { UploadOptions } from './client.ts';
export type { Tokens } from './credential.ts';
export { type Refusal, RookeryError, UnreachableError } from './errors.ts';
export type { operations, paths } from './schema.gen.ts';
export type { Clock } from './transport.ts';
export type { Content } from './upload.ts';
export { type PostWithThread, type WaitOptions, WaitTimeoutError } from './wait.ts';
