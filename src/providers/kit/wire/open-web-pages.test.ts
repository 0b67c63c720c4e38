import { expect, test } from '@jest/globals';
import { type OutboundAnswer, OutboundError, type OutboundRequest } from '../../../platform/outbound/index.ts';
import { openWebPages } from './open-web-pages.ts';

const LIMITS = { accept: 'text/html', timeoutMs: 50, maxBytes: 10, cut: true } as const;

test('a page is asked for within its limits, without credentials', async () => {
  const asked: (OutboundRequest | undefined)[] = [];
  const pages = openWebPages({
    async fetch(_, request) {
      asked.push(request);
      const headers = new Headers({ 'content-type': 'text/html' });
      return { status: 200, url: 'https://a.example/y', headers, body: Buffer.from('x') } as unknown as OutboundAnswer;
    },
  });
  expect(await pages('https://a.example/x', LIMITS)).toEqual({
    url: 'https://a.example/y',
    contentType: 'text/html',
    bytes: Buffer.from('x'),
  });
  const headers = { accept: 'text/html', 'user-agent': 'rookery' };
  expect(asked).toEqual([{ headers, timeoutMs: 50, maxBytes: 10, onTooLarge: 'cut' }]);
});

test.each(['timeout', 'blocked', 'unreachable'] as const)('a page that cannot be had (%s) is none', async (failure) => {
  const pages = openWebPages({ fetch: async () => Promise.reject(new OutboundError(failure, failure)) });
  expect(await pages('https://a.example/x', LIMITS)).toBeUndefined();
});
