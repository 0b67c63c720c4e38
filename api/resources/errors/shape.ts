import { z } from 'zod';
import type { ErrorRow } from '../../../src/platform/error-log/index.ts';
import { instant } from '../../http/fields.ts';

export const InternalError = z.strictObject({
  id: z.string(),
  at: instant,
  /** The process that wrote it. */
  incarnation: z.string(),
  room: z.string(),
  message: z.string(),
  error: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});

export const presentError = ({ at, ...row }: ErrorRow): z.input<typeof InternalError> => ({
  ...row,
  at: at.toISOString(),
});
