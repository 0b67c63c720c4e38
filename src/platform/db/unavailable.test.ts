import { describe, expect, test } from '@jest/globals';
import { AppError } from '../kernel/index.ts';
import { asCallerError, isFinal, isUnavailable } from './unavailable.ts';

const coded = (code: string) => Object.assign(new Error(code), { code });

describe('database errors', () => {
  test.each([
    '08006',
    '08P01',
    '53300',
    '53100',
    '55000',
    '57P01',
    '57P03',
    'CONNECTION_CLOSED',
    'CONNECT_TIMEOUT',
    'ECONNREFUSED',
    'ECONNRESET',
  ])('%s is retryable', (code) => {
    expect(isUnavailable(coded(code))).toBe(true);
    expect(asCallerError(coded(code))).toMatchObject({
      code: 'unavailable',
      status: 503,
      extra: { retryAfterMs: 2_000 },
      cause: { code },
    });
  });
  test('a full disk is named', () => {
    expect(asCallerError(coded('53100')).message).toBe('The database has no room left, try again later');
    expect(asCallerError(coded('08006')).message).toBe('The database cannot be reached, try again shortly');
  });
  test.each(['40001', '40P01'])('%s undid what may work in a moment', (code) => {
    expect(isUnavailable(coded(code))).toBe(false);
    // never `busy`, which says that nothing was done: a transaction before it may have held
    const message = 'Somebody changed the same at this moment, try again shortly';
    expect(asCallerError(coded(code))).toMatchObject({ code: 'unavailable', message, extra: { retryAfterMs: 2_000 } });
  });
  test.each(['23505', '22P02', '42P01', '57014', '08', '0800', 'ENOENT', ''])(
    '%p is a fault of the statement or the program',
    (code) => {
      expect(isUnavailable(coded(code))).toBe(false);
      expect(asCallerError(coded(code))).toMatchObject({ code: 'internal', status: 500 });
    },
  );
  test('a value that is refused, or is more than the database can hold, is refused again', () => {
    expect(['22P02', '23505', '42P01', '54000', '54001'].filter((code) => !isFinal(coded(code)))).toEqual([]);
    expect(['40001', '57014', '53100', '08006'].filter((code) => isFinal(coded(code)))).toEqual([]);
  });
  test('a known error stays unchanged, and a non-error is a fault', () => {
    const known = new AppError('conflict', 'No');
    expect(asCallerError(known)).toBe(known);
    for (const odd of [undefined, null, 'ECONNREFUSED', { code: 8006 }])
      expect(asCallerError(odd).code).toBe('internal');
  });
});
