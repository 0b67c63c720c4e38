import { describe, expect, test } from '@jest/globals';
import { openCrowd } from './crowd.ts';

describe('how many connections there may be', () => {
  test('are ten thousand of a process, 200 of a room and 20 of a person; whoever goes makes room [S206]', () => {
    const crowd = openCrowd();
    for (let n = 0; n < 20; n += 1) crowd.add('ann');
    expect(crowd.isFull(20, 'ann')).toBe('Too many connections of one person');
    expect(crowd.isFull(199, 'ben')).toBeUndefined();
    expect(crowd.isFull(200, 'ben')).toBe('Too many connections to this document');
    crowd.remove('ann');
    expect(crowd.isFull(20, 'ann')).toBeUndefined();
    for (let n = crowd.size; n < 10_000; n += 1) crowd.add(`person ${n}`);
    expect(crowd.isFull(0, 'ben')).toBe('Too many connections here');
    crowd.remove('person 500');
    expect([crowd.size, crowd.isFull(0, 'ben')]).toEqual([9_999, undefined]);
  });
});
