import { RookeryError, UnreachableError, WaitTimeoutError } from '../../typescript/src/index.ts';

/** The statuses that scripts can rely on. */
export const EXIT = {
  ok: 0,
  /** A fault of this program. */
  fault: 1,
  usage: 2,
  credential: 3,
  refused: 4,
  limit: 5,
  rate: 6,
  unreachable: 7,
} as const;
export const EXIT_MEANINGS: Readonly<Record<string, string>> = {
  0: 'done',
  1: 'a fault of this program',
  2: 'the command was typed wrongly',
  3: 'no credential, or one that is not accepted',
  4: 'the service refused, or a post failed',
  5: 'a limit of the plan is reached',
  6: 'too many requests for now',
  7: 'the service does not answer, or not in time',
};

/** What was typed cannot be done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
/** There is no credential to use, or its file is not safe. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}
/** The command did what it is for, and the result is a no. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export function exitOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof CredentialError) return EXIT.credential;
  if (error instanceof RefusedError) return EXIT.refused;
  if (error instanceof UnreachableError || error instanceof WaitTimeoutError) return EXIT.unreachable;
  if (!(error instanceof RookeryError)) return EXIT.fault;
  if (error.status === 401) return EXIT.credential;
  if (error.status === 402) return EXIT.limit;
  if (error.status === 429) return EXIT.rate;
  return error.status >= 500 && error.code !== 'provider_failed' ? EXIT.unreachable : EXIT.refused;
}

/** One fault with its field, which is there already in the words of some. */
export const wordsOfFault = ({ field, message }: { field: string; message: string }): string =>
  message.startsWith(`${field}: `) ? message : `${field}: ${message}`;

/** The sentences that a person reads of an error. */
export function wordsOf(error: unknown): string {
  const { message } = error as Error;
  if (!(error instanceof RookeryError)) return message;
  const faults = error.faults
    .filter(({ message: fault }) => fault !== message)
    .map((fault) => `  ${wordsOfFault(fault)}`);
  const more = [
    error.body.url === undefined ? undefined : `  The plan can be changed at ${error.body.url}`,
    error.retryAfterSeconds === undefined ? undefined : `  Try again in ${error.retryAfterSeconds} s`,
    error.status >= 500 && error.requestId !== undefined ? `  Request ${error.requestId}` : undefined,
  ];
  return [message, ...faults, ...more.filter((line) => line !== undefined)].join('\n');
}
