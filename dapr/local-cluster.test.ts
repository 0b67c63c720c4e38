import { expect, test } from '@jest/globals';
import { busOf } from './local-cluster.ts';

test('sidecars are given the host with its port and the password of a Redis', () => {
  expect(busOf('redis://localhost')).toEqual({ REDIS_HOST: 'localhost:6379', REDIS_PASSWORD: '' });
  expect(busOf('redis://default:p%40ss@127.0.0.1:6380/0')).toEqual({
    REDIS_HOST: '127.0.0.1:6380',
    REDIS_PASSWORD: 'p@ss',
  });
  expect(busOf('redis://[::1]:6379')).toEqual({ REDIS_HOST: '[::1]:6379', REDIS_PASSWORD: '' });
});

test.each(['rediss://localhost', 'redis://bob:secret@localhost', 'redis://localhost/3', 'unix:///tmp/redis.sock'])(
  'what they would not be given is refused: %s',
  (url) => {
    expect(() => busOf(url)).toThrow('redis://[:password@]host[:port]');
  },
);
