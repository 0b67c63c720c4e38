import { z } from 'zod';

export const EndedSessions = z.strictObject({ success: z.literal(true), revoked: z.int() });
export const presentEndedSessions = (revoked: number) => ({ success: true as const, revoked });
