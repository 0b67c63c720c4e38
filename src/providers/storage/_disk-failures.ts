import { ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';

const MISSING = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const FAILURES: Readonly<Record<string, [ProviderFailure, string]>> = {
  ENOSPC: ['exhausted', 'The disk is full'],
  EDQUOT: ['exhausted', 'The disk quota is used up'],
  EACCES: ['rejected', 'The folder may not be written to'],
  EPERM: ['rejected', 'The folder may not be written to'],
  EROFS: ['rejected', 'The folder may not be written to'],
};

export const codeOf = (error: unknown): string => String((Object(error) as { code?: unknown }).code);
export const isMissing = (error: unknown): boolean => MISSING.includes(codeOf(error));
/** Makes failures of file system errors, in words that name no path. */
export async function worded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    const [failure, words] = FAILURES[codeOf(error)] ?? ['unavailable', `The disk failed (${codeOf(error)})`];
    throw new ProviderError(failure, words, { cause: error });
  }
}
