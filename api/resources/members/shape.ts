import { z } from 'zod';
import { type InvitationRow, type MemberRow, roleName } from '../../../src/people/members/index.ts';
import { instant } from '../../http/fields.ts';

const Role = z.object({ role: z.string(), roleId: z.string(), roleName: z.string() });
/** Key and id of a role are the same text (S48). */
const role = (key: string, name: string | null) => ({ role: key, roleId: key, roleName: roleName(key, name) });

export const Member = Role.extend({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  avatarUrl: z.string().nullable(),
  disabled: z.boolean(),
  lastOnline: instant.nullable(),
  createdAt: instant,
});

export const presentMember = (row: MemberRow): z.input<typeof Member> => ({
  id: row.id,
  email: row.email,
  name: row.name,
  avatarUrl: row.avatarUrl,
  ...role(row.roleKey, row.roleName),
  disabled: row.disabled,
  lastOnline: row.lastOnline?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

export const Invitation = Role.extend({
  id: z.string(),
  email: z.string(),
  invitedBy: z.object({ id: z.string(), name: z.string(), email: z.string() }),
  expiresAt: instant,
  createdAt: instant,
});

/** Without the link: only the answer to its making carries it. */
export const presentInvitation = (row: InvitationRow): z.input<typeof Invitation> => ({
  id: row.id,
  email: row.email,
  ...role(row.roleKey, row.roleName),
  invitedBy: row.invitedBy,
  expiresAt: row.expiresAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
});
