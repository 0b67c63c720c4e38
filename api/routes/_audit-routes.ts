import { z } from 'zod';
import { instant } from '../http/fields.ts';

export const AuditEntry = z.strictObject({
  id: z.string(),
  at: instant,
  userId: z.string().nullable(),
  /** The super-admin who acted as the user. */
  impersonatorId: z.string().nullable(),
  ip: z.string().nullable(),
  action: z.string(),
  resource: z.string(),
  resourceId: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});
export const AuditQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'take it from the page before')
    .optional(),
  /** A user, also as somebody else. */
  actor: z.string().max(100).optional(),
  action: z.string().max(100).optional(),
  format: z.enum(['json', 'csv']).default('json'),
});
