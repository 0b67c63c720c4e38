import { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import type { BrakeTarget } from '../../../src/publishing/posts/index.ts';
import { invalidField } from '../../../src/platform/kernel/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { type AuthKind, routesOf } from '../../http/route.ts';

const route = routesOf('posts');

const Target = z.strictObject({
  scope: z.enum(['org', 'channel', 'campaign']),
  id: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'Of the channel or the campaign; a group of posts stands for a campaign, too.' }),
});
function targetOf({ scope, id }: BrakeTarget): BrakeTarget {
  if (scope === 'org') {
    if (id !== undefined) throw invalidField('id', 'must be absent for the scope org', 'unknown_field');
    return { scope };
  }
  if (id === undefined) throw invalidField('id', `is needed for the scope ${scope}`, 'required');
  return { scope, id };
}

interface Family {
  prefix: '' | '/public/v1';
  auth: readonly [AuthKind, ...AuthKind[]];
}
/** The brake on publishing (S123), in console and public API. */
export const brakeRoutes = ({ prefix, auth }: Family) => [
  route({
    method: 'post',
    path: `${prefix}/posts/pause`,
    summary: 'Pause publishing of an organization, channel or campaign',
    description: 'What waits is paused, and so is what is made until it is resumed; posts on their way go on.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:manage',
    body: Target,
    answer: z.strictObject({ paused: z.int() }),
    handle: ({ actors, principal, body, request }) =>
      actors(organizationActor, principal.orgId).pausePosts({
        target: targetOf(body),
        by: auditActor({ principal, request }),
      }),
    present: ({ paused }) => ({ paused }),
  }),
  route({
    method: 'post',
    path: `${prefix}/posts/resume`,
    summary: 'Resume publishing of an organization, channel or campaign',
    description:
      'Posts that nothing else holds go out in the order of their dates, in each channel at least `spacingSeconds` apart.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:manage',
    body: Target.extend({ spacingSeconds: z.int().min(0).max(86_400).default(60) }),
    answer: z.strictObject({
      resumed: z.int(),
      plan: z.array(z.strictObject({ postId: z.string(), at: z.string() })),
    }),
    async handle({ actors, principal, body: { spacingSeconds, ...target }, request }) {
      const { plan } = await actors(organizationActor, principal.orgId).resumePosts({
        target: targetOf(target),
        spacingSeconds,
        by: auditActor({ principal, request }),
      });
      return plan;
    },
    present: (plan) => ({
      resumed: plan.length,
      plan: plan.map(({ postId, at }) => ({ postId, at: at.toISOString() })),
    }),
  }),
];
