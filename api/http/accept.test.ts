import { expect, test } from '@jest/globals';
import { prefersHtml } from './accept.ts';

test.each([
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', true],
  ['text/html', true],
  ['TEXT/HTML ; q=0.5', true],
  ['text/*;q=0.9,application/json;q=0.5', true],
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/plain, */*', false],
  ['application/json, text/html;q=0.9', false],
  ['text/html;q=0, */*', false],
  ['text/html;q=7', false],
])('%s prefers HTML: %s [S85]', (accept, html) => expect(prefersHtml(accept)).toBe(html));
