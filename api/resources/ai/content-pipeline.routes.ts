import { AppError } from '../../../src/platform/kernel/index.ts';
import { ListPage, pageShape } from '../../http/fields.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { authorOf, ownOnly } from '../../http/own.ts';
import { type Principal, routesOf } from '../../http/route.ts';
import type { ServerEvent } from '../../http/server-events.ts';
import { eventsOfRun } from './run-events.ts';
import {
  NewPipeline,
  PipelineBegun,
  PipelineReport,
  PipelineSummary,
  presentPipeline,
  presentPipelineBegun,
  presentPipelineSummary,
} from './content-pipeline.shape.ts';

const route = routesOf('contentPipeline', 'auth', 'runs');

/** What a person may send of a topic is less; clients send what they have (S8). */
const BODY_BYTES = 10_000_000;

function checkMayCreatePosts({ permissions }: Principal): void {
  if (!permissions.has('posts:create')) throw new AppError('forbidden', 'Your role lacks the permission posts:create');
}

/** Whether this event is the last one of a run. */
const isEnd = (sent: ServerEvent): boolean =>
  'data' in sent && sent.event === 'state' && (sent.data as { state: string }).state !== 'running'; // as the engine writes it

export default [
  route({
    method: 'post',
    path: '/ai/content-pipeline',
    summary: 'Start a content pipeline',
    description:
      'Writes drafts for channels from a topic or a page; it stores and publishes no post. Needs `posts:create`, too. `drafts` of `GET /ai/content-pipeline/{id}` are bodies for `POST /posts`.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'ai:create',
    planLimit: 'ai_budget',
    limit: '30/minute',
    idempotent: true,
    accepted: 'always',
    body: NewPipeline,
    bodyLimit: BODY_BYTES,
    answer: PipelineBegun,
    async handle({ rooms, principal, body, idempotency }) {
      checkMayCreatePosts(principal);
      const kept = keptAnswer(idempotency, 202, presentPipelineBegun);
      return rooms.contentPipeline.begin(principal.orgId, authorOf(principal), body, kept);
    },
    present: presentPipelineBegun,
  }),

  route({
    method: 'get',
    path: '/ai/content-pipeline',
    summary: 'List content pipelines',
    description: 'The newest first.',
    auth: ['session'],
    permission: 'ai:read',
    query: ListPage,
    answer: pageShape(PipelineSummary),
    handle: ({ rooms, principal, query }) => rooms.contentPipeline.list(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentPipelineSummary), nextCursor }),
  }),

  route({
    method: 'get',
    path: '/ai/content-pipeline/:id',
    summary: 'Get a content pipeline',
    description:
      'With the drafts that are whole, also where the time was over (`timed_out`). `notes` tell what was removed from a draft, what its source does not say, and which drafts were dropped.',
    auth: ['session'],
    permission: 'ai:read',
    answer: PipelineReport,
    handle: ({ rooms, principal, params }) => rooms.contentPipeline.get(principal.orgId, params.id),
    present: presentPipeline,
  }),

  route({
    method: 'post',
    path: '/ai/content-pipeline/:id/cancel',
    summary: 'Cancel a content pipeline',
    description: 'Drafts that are whole by then are kept. One that has ended stays as it is.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'ai:create',
    answer: PipelineReport,
    async handle({ rooms, principal, params }) {
      checkMayCreatePosts(principal);
      const { orgId } = principal;
      await ownOnly(principal, async () => (await rooms.contentPipeline.get(orgId, params.id)).userId);
      return rooms.contentPipeline.cancel(orgId, params.id);
    },
    present: presentPipeline,
  }),

  route({
    method: 'get',
    path: '/ai/content-pipeline/:id/events',
    summary: 'Get events of a content pipeline',
    description:
      '`state` and `step` as they change, numbered: `Last-Event-ID` brings what came meanwhile. It ends with the run, and within a minute after its session. `Accept: application/json` answers the pipeline itself.',
    auth: ['session'],
    impersonation: 'refused', // it lasts as long as the session of the reader
    permission: 'ai:read',
    limit: '60/minute',
    isStream: true,
    answer: PipelineReport,
    handle: ({ rooms, principal, params }) => rooms.contentPipeline.get(principal.orgId, params.id),
    present: presentPipeline,
    async *events(call, gone) {
      const { rooms, principal, params } = call;
      const pipeline = () => rooms.contentPipeline.get(principal.orgId, params.id);
      await pipeline();
      for await (const sent of eventsOfRun(call, params.id, gone)) {
        yield sent;
        if (isEnd(sent) || ('comment' in sent && !(await pipeline()).isActive)) return;
      }
    },
  }),
];
