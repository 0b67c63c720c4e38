import { expect, test } from '@jest/globals';
import { AppError, systemClock } from '../../src/platform/kernel/index.ts';
import { openLogs, openMetrics } from '../../src/platform/telemetry/index.ts';
import type { Answered } from '../app.ts';
import { reportTo } from './report.ts';

function reporting() {
  const lines: Record<string, unknown>[] = [];
  let at = 0;
  const logs = openLogs({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const report = reportTo({ logs, metrics: openMetrics(), clock: { ...systemClock, monotonic: () => at } });
  const usual: Answered = {
    requestId: 'r',
    method: 'GET',
    route: '/posts',
    path: '/posts',
    status: 429,
    ms: 4.273883999994723,
    orgId: undefined,
    userId: undefined,
    error: new AppError('rate_limited', 'Too many'),
  };
  return {
    lines,
    report: (more: Partial<Answered> = {}) => report({ ...usual, ...more }),
    later: (ms: number) => void (at += ms),
  };
}
const refused = (code: 'not_found' | 'validation_failed') => ({
  status: code === 'not_found' ? 404 : 400,
  error: new AppError(code, 'No'),
});

test('refusals of one route by one code are one log line a minute, with the number of suppressed ones', () => {
  const { lines, report, later } = reporting();
  for (let n = 0; n < 2_000; n++) report();
  report({ route: '/media' });
  report(refused('validation_failed'));
  expect(lines).toHaveLength(3);
  later(60_000);
  report();
  report();
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatchObject({
    level: 'info',
    route: '/posts',
    status: 429,
    code: 'rate_limited',
    unlogged: 1_999,
  });
  expect(lines[0]).not.toHaveProperty('unlogged');
});

test('every internal error is a log line', () => {
  const { lines, report } = reporting();
  for (let n = 0; n < 3; n++) report({ status: 500, error: new AppError('internal', 'Fault') });
  for (let n = 0; n < 3; n++) report({ status: 503, error: new AppError('unavailable', 'Away') });
  expect(lines.map(({ level }) => level)).toEqual(['error', 'error', 'error', 'warn', 'warn', 'warn']);
});

test('what fails while an answer is sent is an error, unless the client is gone', () => {
  const { lines, report } = reporting();
  const broken = (cause: Error) => report({ status: 200, error: new AppError('internal', 'Fault', {}, { cause }) });
  broken(new Error('broken'));
  broken(Object.assign(new Error('gone'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }));
  expect(lines.map(({ level }) => level)).toEqual(['error', 'info']);
});

test('a log line has milliseconds with one decimal, and the beginning of the path when no route is found', () => {
  const { lines, report } = reporting();
  report();
  report({ route: undefined, path: `/wp-login.php${'x'.repeat(1_000)}/secret`, ...refused('not_found') });
  expect(lines[0]).toMatchObject({ ms: 4.3 });
  expect(lines[0]).not.toHaveProperty('path');
  expect(lines[1]).toMatchObject({ status: 404, path: expect.stringMatching(/^\/wp-login\.phpx{27}$/) });
});
