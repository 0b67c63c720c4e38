import { z } from 'zod';
import { devicePage } from '../../console/pages.ts';
import { routesOf } from '../../http/route.ts';
import { deviceRoutes } from './handlers.ts';

const route = routesOf();

export default [
  ...deviceRoutes('/device'),

  route({
    method: 'get',
    path: '/device',
    summary: 'Get the page for entering a device code',
    auth: ['none'],
    output: 'text',
    mediaType: 'text/html',
    answer: z.string(),
    handle: async ({ reply }) => devicePage(reply),
    present: (page) => page,
  }),
];
