import { z } from 'zod';
import { TextWish } from '../../../src/studio/text/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { AiBudget, LanguageModel, ModelText, presentBudget, presentModel, presentModelText } from './shape.ts';

const route = routesOf('budget', 'models', 'texts');

export default [
  route({
    method: 'post',
    path: '/ai/text',
    summary: 'Create a text with a language model',
    description:
      'Rewrites, shortens, translates, finds hashtags or describes a picture of the library. With `Accept: text/event-stream` it comes as events `text`, and at last `done` with the whole answer, or `error`.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'ai:create',
    planLimit: 'ai_budget',
    limit: '30/minute',
    body: TextWish,
    answer: ModelText,
    handle: ({ rooms, principal, body }) => rooms.texts.write(principal, body),
    present: presentModelText,
    async *events({ rooms, principal, body }, gone) {
      for await (const { type, ...data } of rooms.texts.stream(principal, body, gone)) yield { event: type, data };
    },
  }),

  route({
    method: 'get',
    path: '/ai/models',
    summary: 'List usable language models',
    description: 'Those of the providers that are set up here; of one that does not answer the known ones.',
    auth: ['session'],
    permission: 'ai:read',
    limit: '30/minute',
    answer: z.array(LanguageModel),
    handle: ({ rooms, principal }) => rooms.models.list(principal.orgId),
    present: (models) => models.map(presentModel),
  }),

  route({
    method: 'get',
    path: '/ai/budget',
    summary: 'Get the AI budget',
    description: 'Amounts are cents of a US dollar, days and months those of UTC.',
    auth: ['session'],
    permission: 'settings:read',
    answer: AiBudget,
    handle: ({ rooms, principal }) => rooms.budget.get(principal.orgId),
    present: presentBudget,
  }),

  route({
    method: 'put',
    path: '/ai/budget',
    summary: 'Change the AI budget',
    description: 'What is absent keeps its value, null removes a cap; `providers` is replaced as a whole.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'settings:update',
    body: AiBudget.partial(),
    answer: AiBudget,
    handle: (call) => call.rooms.budget.change(call.principal.orgId, call.body, auditActor(call)),
    present: presentBudget,
  }),
];
