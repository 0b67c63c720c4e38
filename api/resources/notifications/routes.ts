import { z } from 'zod';
import { DIGESTS } from '../../../src/people/identity/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('identity');

const Toggles = z.object({ email: z.boolean(), push: z.boolean(), inApp: z.boolean() });
const Preferences = z.object({ master: Toggles, categories: z.record(z.string(), Toggles), digest: z.enum(DIGESTS) });
const SomeToggles = z.strictObject(Toggles.partial().shape);
const Change = z.strictObject({
  master: SomeToggles.optional(),
  categories: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), SomeToggles)
    .refine((categories) => Object.keys(categories).length <= 100, 'at most 100 categories')
    .optional(),
  digest: z.enum(DIGESTS).optional(),
});

export default [
  route({
    method: 'get',
    path: '/notifications/preferences',
    summary: 'Get notification preferences',
    description: 'No notification is sent yet.',
    auth: ['session'],
    answer: Preferences,
    handle: ({ rooms, principal }) => rooms.identity.preferences(principal.userId),
    present: (preferences) => preferences,
  }),

  route({
    method: 'put',
    path: '/notifications/preferences',
    summary: 'Change notification preferences',
    description: 'What is absent stays. No notification is sent yet.',
    auth: ['session'],
    impersonation: 'allowed',
    body: Change,
    answer: Preferences,
    handle: ({ rooms, principal, body }) => rooms.identity.updatePreferences(principal.userId, body),
    present: (preferences) => preferences,
  }),
];
