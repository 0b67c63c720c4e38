import { expect, test } from '@jest/globals';
import { faultsOfParams } from './params-faults.ts';

test.each(['', 'Invalid tools/call request: '])('names the fields of a list of issues behind "%s"', (prefix) => {
  const issues = [{ path: ['params', 'name'], code: 'invalid_type', message: 'Invalid input: expected string' }];
  expect(faultsOfParams(prefix + JSON.stringify(issues))).toEqual([
    { field: 'params.name', message: expect.stringContaining('expected string'), rule: 'invalid_type' },
  ]);
});

test.each(['Not found', '[{x}]', '[{"path": 5}]', 'Invalid tools/call request: [{"code": "custom"}]'])(
  'answers nothing for %s, which is no list of issues',
  (text) => {
    expect(faultsOfParams(text)).toBeUndefined();
  },
);
