import { describe, expect, test } from '@jest/globals';
import { jsonFault } from './json-fault.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test.each([
  ['', 1, 1, 'a value'],
  ['  \n ', 2, 2, 'a value'],
  ['{', 1, 2, 'a name in double quotes or }'],
  ['{"a":1,}', 1, 8, 'a name in double quotes'],
  ["{'a':1}", 1, 2, 'a name in double quotes or }'],
  ['{"a" 1}', 1, 6, 'a colon'],
  ['{"a":}', 1, 6, 'a value'],
  ['{"a":1 "b":2}', 1, 8, 'a comma or }'],
  ['[1 2]', 1, 4, 'a comma or ]'],
  ['[1,]', 1, 4, 'a value'],
  ['[}', 1, 2, 'a value or ]'],
  ['{"a":01}', 1, 6, 'a value'],
  ['{"a":tru}', 1, 6, 'a value'],
  ['{"a":"x\ny"}', 1, 6, 'a value'],
  ['{"a":"\\x"}', 1, 6, 'a value'],
  ['{\r\n  "name": "Zoë",\r\n  "age": ,\r\n}', 3, 10, 'a value'],
  ['["\u{1f426}" x]', 1, 6, 'a comma or ]'],
  ['{} x', 1, 4, 'the end'],
  ['NaN', 1, 1, 'a value'],
])('the fault in %j is reported at line %d, column %d: %s', (text, line, column, wanted) => {
  expect(isJson(text)).toBe(false);
  expect(jsonFault(text)).toBe(`The body is not valid JSON: line ${line}, column ${column}, where ${wanted} is needed`);
});

test('the message quotes nothing of the text', () => {
  const secret = 'hunter2-canary';
  for (const text of [`{"password":"${secret}" x}`, `{"password":${secret}}`, `{"${secret}`, secret])
    expect(jsonFault(text)).not.toContain('hunter2');
});

describe('jsonFault', () => {
  const whole = '{"a":[1,-2.5e+3,true,false,null,"x\\u00e9\\n",{}],"b":{"c":[]},"":"\u{1f426}"}';
  test('a text that JSON.parse accepts has no fault, and each mutation is judged as JSON.parse does', () => {
    const texts = [whole, ` ${whole}\n`, '1', '"x"', 'null', '-0', '1e9', '[[[]]]'];
    for (const sign of ['"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', 'x', ' ', '\n', '\u0000'])
      for (let at = 0; at <= whole.length; at += 1)
        texts.push(whole.slice(0, at) + sign + whole.slice(at), whole.slice(0, at) + sign + whole.slice(at + 1));
    for (let at = 0; at < whole.length; at += 1) texts.push(whole.slice(0, at), whole.slice(at));
    for (const text of texts) expect([text, jsonFault(text).includes('line')]).toEqual([text, !isJson(text)]);
  });
  test('a body of the greatest size and depth is judged at once', () => {
    expect(jsonFault(`["${'\\n'.repeat(900_000)}",`)).toContain('line 1, column 1800005');
    expect(jsonFault('['.repeat(19_000))).toContain('column 19001');
  });
});
