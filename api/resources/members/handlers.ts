import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import type { Call } from '../../http/route.ts';
import { type Counting, throttleBy } from '../../http/throttle.ts';

const HOUR_MS = 3_600_000;
const INVITATIONS_PER_ADDRESS = 10;
const INVITATIONS_A_DAY = 200;

/** Key or id of a role, which mean the same (S48). */
export const named = { role: z.string().min(1).max(255).optional(), roleId: z.string().min(1).max(255).optional() };
export const InvitationBody = z.strictObject({
  email: z.email().max(254),
  ...named,
  sendEmail: z.boolean().default(true),
});

/**
 * Counted by address too, known here or not: nobody's mailbox is flooded from here. And by person, in however many
 * organizations: each is a mail of ours.
 */
export async function invite({
  rooms,
  principal,
  body,
  request,
}: Call<'auth' | 'members' | keyof Counting, z.output<typeof InvitationBody>>) {
  await throttleBy(rooms, `invite|user:${principal.userId}`, INVITATIONS_A_DAY, 24 * HOUR_MS);
  await throttleBy(rooms, `invite|${rooms.auth.accountBucket(body.email)}`, INVITATIONS_PER_ADDRESS, HOUR_MS);
  return rooms.members.invitations.create(principal.orgId, auditActor({ principal, request }), body);
}
