import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { routesOf } from '../../../api/http/route.ts';
import { testApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

const route = routesOf();
const declared = {
  method: 'get',
  summary: 'Get the number',
  auth: ['none'],
  answer: z.strictObject({ number: z.int() }),
  handle: async () => ({ number: 1 }),
  present: (answer: { number: number }) => answer,
} as const;

test('a route that is to be removed says on every answer since when, and until when it stays; others say nothing [S22]', async () => {
  await using db = await testDatabase();
  const deprecated = { since: '2026-01-01', sunset: '2026-07-01' };
  await using app = await testApp({
    sql: db.sql,
    routes: [
      route({ ...declared, path: '/old', deprecated }),
      route({ ...declared, path: '/old/closed', auth: ['session'], deprecated }),
      route({ ...declared, path: '/new' }),
    ],
  });
  const told = async (path: string) => {
    const { status, headers } = await app.client().get(path);
    return [status, headers.get('deprecation'), headers.get('sunset')];
  };
  const said = ['@1767225600', 'Wed, 01 Jul 2026 00:00:00 GMT'];
  expect(await told('/old')).toEqual([200, ...said]);
  expect(await told('/old/closed')).toEqual([401, ...said]);
  expect(await told('/new')).toEqual([200, null, null]);
});
