import { z } from 'zod';
import { SessionWish } from '../../../src/studio/designer/index.ts';
import { ListPage, pageShape } from '../../http/fields.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { ownOnly } from '../../http/own.ts';
import { type Call, type Principal, routesOf } from '../../http/route.ts';
import { presentSession, Session } from './designer.shape.ts';
import { eventsOfRun } from './run-events.ts';

const route = routesOf('auth', 'designer', 'runs');

/** What writes: asked for in a session of a person, and paid by the budget of the organization. */
const WRITES = {
  auth: ['session'],
  impersonation: 'allowed',
  permission: 'ai:create',
  limit: '30/minute',
} as const;
const READS = { auth: ['session'], permission: 'ai:read' } as const;

/** Refuses with 403 who may change only own sessions, and has not begun this one (S54). */
const ownSession = (rooms: Call<'designer'>['rooms'], principal: Principal, id: string): Promise<void> =>
  ownOnly(principal, async () => (await rooms.designer.findSessionPlan({ orgId: principal.orgId, id }))?.userId);

export default [
  route({
    method: 'post',
    path: '/ai/designer/sessions',
    summary: 'Create a designer session',
    description: 'A plan is made beside the answer: it is there when the state is `awaiting_plan`.',
    ...WRITES,
    planLimit: 'ai_budget',
    idempotent: true,
    creates: true,
    body: SessionWish,
    answer: Session,
    handle: ({ rooms, principal, body, idempotency }) =>
      rooms.designer.createSession(principal, body, keptAnswer(idempotency, 201, presentSession)),
    present: presentSession,
  }),
  route({
    method: 'get',
    path: '/ai/designer/sessions',
    summary: 'List designer sessions',
    description: 'The newest first.',
    ...READS,
    query: ListPage,
    answer: pageShape(Session),
    handle: ({ rooms, principal, query }) => rooms.designer.listSessions(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentSession), nextCursor }),
  }),
  route({
    method: 'get',
    path: '/ai/designer/sessions/:id',
    summary: 'Get a designer session',
    ...READS,
    answer: Session,
    handle: ({ rooms, principal: { orgId }, params: { id } }) => rooms.designer.getSession({ orgId, id }),
    present: presentSession,
  }),
  route({
    method: 'get',
    path: '/ai/designer/sessions/:id/events',
    summary: 'Get the events of a designer session',
    description:
      'As server-sent events: `state`, `step`, `plan`, `message` and `late`, numbered; `Last-Event-ID` goes on behind one. `Accept: application/json` answers the session as it is now.',
    ...READS,
    impersonation: 'refused', // it lasts as long as the session of the reader
    limit: '60/minute',
    isStream: true,
    answer: Session,
    handle: ({ rooms, principal: { orgId }, params: { id } }) => rooms.designer.getSession({ orgId, id }),
    present: presentSession,
    async *events(call, gone) {
      const { id } = await call.rooms.designer.getSession({ orgId: call.principal.orgId, id: call.params.id });
      yield* eventsOfRun(call, id, gone);
    },
  }),
  route({
    method: 'post',
    path: '/ai/designer/sessions/:id/messages',
    summary: 'Create a message to the planner',
    description: 'Another plan is made. 409 while one is made or executed, and after a session was cancelled.',
    ...WRITES,
    planLimit: 'ai_budget',
    idempotent: true,
    body: z.strictObject({ content: z.string().trim().min(1).max(8_000) }),
    answer: Session,
    async handle({ rooms, principal, params: { id }, body, idempotency }) {
      await ownSession(rooms, principal, id);
      const { orgId } = principal;
      return rooms.designer.addMessage({ orgId, id }, body.content, keptAnswer(idempotency, 200, presentSession));
    },
    present: presentSession,
  }),
  route({
    method: 'post',
    path: '/ai/designer/sessions/:id/approve-plan',
    summary: 'Approve the plan of a designer session',
    description:
      'It is executed beside the answer. With the `planHash` that was seen, 409 where the plan is another by now. A plan with a copy makes drafts, for which `posts:create` is needed.',
    ...WRITES,
    planLimit: 'ai_budget',
    body: z.strictObject({ planHash: z.string().max(128).optional() }),
    answer: Session,
    async handle({ rooms, principal, params: { id }, body: { planHash } }) {
      await ownSession(rooms, principal, id);
      const { orgId, permissions } = principal;
      return rooms.designer.approvePlan({ orgId, id, planHash, mayDraft: permissions.has('posts:create') });
    },
    present: presentSession,
  }),
  route({
    method: 'post',
    path: '/ai/designer/sessions/:id/cancel',
    summary: 'Cancel a designer session',
    description: 'What was made stays. 409 for a session that is over.',
    ...WRITES,
    answer: Session,
    async handle({ rooms, principal, params: { id } }) {
      await ownSession(rooms, principal, id);
      return rooms.designer.cancelSession({ orgId: principal.orgId, id });
    },
    present: presentSession,
  }),
  route({
    method: 'delete',
    path: '/ai/designer/sessions/:id',
    summary: 'Delete a designer session',
    description: 'With its messages and plans; files and drafts stay.',
    ...WRITES,
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params: { id } }) {
      await ownSession(rooms, principal, id);
      await rooms.designer.removeSession({ orgId: principal.orgId, id });
      return id;
    },
    present: (id) => ({ id }),
  }),
];
