import { z } from 'zod';
import { DIGESTS, type Preferences as Chosen } from '../../../src/people/identity/index.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('identity');

const Toggles = z.object({ email: z.boolean(), push: z.boolean(), inApp: z.boolean() });
const Time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:00');
const QuietHours = z
  .strictObject({ from: Time, to: Time })
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must differ from the beginning' });
const Preferences = z.object({
  master: Toggles,
  categories: z.record(z.string(), Toggles),
  digest: z.enum(DIGESTS),
  quietHours: z.object({ from: z.string(), to: z.string() }).nullable(),
});
const SomeToggles = z.strictObject(Toggles.partial().shape);
const Change = z.strictObject({
  master: SomeToggles.optional(),
  categories: z
    .record(z.string().min(1).max(64), SomeToggles)
    .refine((categories) => Object.keys(categories).length <= 100, 'at most 100 categories')
    .optional(),
  digest: z.enum(DIGESTS).optional(),
  quietHours: QuietHours.nullable().optional(),
});

const present = ({ master, categories, digest, quietHours }: Chosen) => ({ master, categories, digest, quietHours });

export default [
  route({
    method: 'get',
    path: '/notifications/preferences',
    summary: 'Get notification preferences',
    auth: ['session'],
    answer: Preferences,
    handle: ({ rooms, principal }) => rooms.identity.preferences(principal.userId),
    present,
  }),

  route({
    method: 'put',
    path: '/notifications/preferences',
    summary: 'Change notification preferences',
    description:
      'What is absent stays. `digest` collects the mails of some categories; between the times of `quietHours`, in the zone of the user, mails and pushes wait. `email` of a category, turned on, takes an unsubscription from it back. Of categories that are not in the list 100 are kept.',
    auth: ['session'],
    impersonation: 'allowed',
    body: Change,
    answer: Preferences,
    handle: ({ rooms, principal, body }) => rooms.identity.updatePreferences(principal.userId, body),
    present,
  }),
];
