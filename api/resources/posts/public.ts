import { routesOf } from '../../http/route.ts';
import { brakeRoutes } from './brake.handlers.ts';
import { bulkRoutes } from './bulk.handlers.ts';
import { isWholeList, listBriefly, postRoutes, revisionOfList } from './handlers.ts';
import { preflightRoute } from './preflight.handlers.ts';
import {
  listOf,
  presentPublicPost,
  presentPublicPostWithThread,
  PublicPost,
  PublicPostWithThread,
  Range,
} from './shape.ts';

const route = routesOf('clock', 'posts');

export default [
  ...postRoutes({
    prefix: '/public/v1',
    auth: ['api-key', 'oauth'],
    one: PublicPostWithThread,
    present: presentPublicPostWithThread,
  }),
  ...brakeRoutes({ prefix: '/public/v1', auth: ['api-key', 'oauth'] }),
  preflightRoute('/public/v1/posts/preflight', ['api-key', 'oauth']),
  ...bulkRoutes('/public/v1', ['api-key', 'oauth']),
  route({
    method: 'get',
    path: '/public/v1/posts',
    summary: 'List posts by date',
    description: 'Without dates from 30 days back to 30 days ahead.',
    auth: ['api-key', 'oauth'],
    permission: 'posts:read',
    query: Range.omit({ state: true }),
    answer: listOf(PublicPost),
    revision: (call) => revisionOfList({ ...call, query: { ...call.query, state: undefined } }),
    isWhole: isWholeList,
    handle: (call) => listBriefly({ ...call, query: { ...call.query, state: undefined } }),
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPublicPost), ...more }),
  }),
];
