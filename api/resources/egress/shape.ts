import { z } from 'zod';

export const EgressChoice = z.strictObject({ route: z.string().min(1).max(64) });
