import { AppError, hmacHex } from '../../platform/kernel/index.ts';

/** A local address with a plus sign before the at sign, which DISALLOW_PLUS refuses. */
export const hasPlus = (email: string): boolean => email.slice(0, email.lastIndexOf('@')).includes('+');

export const locked = () => new AppError('invalid_request', 'This account is locked: ask whoever runs this service');

/**
 * The setup token, which makes its bearer the first super-admin. It follows from the deployment's secret, so that every
 * process prints and takes the same one.
 */
export const setupTokenOf = (secret: string): string =>
  hmacHex(secret, 'setup token of the first super-admin').slice(0, 40);
