import { STATUS_CODES } from 'node:http';
import type { AppError } from '../../src/kernel/index.ts';

/** The public body of every error: flat, one shape for all statuses (S3). */
export function errorBody(error: AppError, requestId: string, frontendUrl: string): Record<string, unknown> {
  const { retryAfterMs, ...extra } = error.extra;
  return {
    statusCode: error.status,
    error: STATUS_CODES[error.status],
    message: error.message,
    msg: error.message,
    code: error.code,
    ...extra,
    ...(typeof retryAfterMs === 'number' && { retryAfter: Math.ceil(retryAfterMs / 1000) }),
    ...(error.status === 402 && { url: `${frontendUrl.replace(/\/$/, '')}/billing` }),
    ...(error.status === 500 && { requestId }),
  };
}
