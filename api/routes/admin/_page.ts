import { z } from 'zod';

/** A page of rows with ids; `search` looks into their names. */
export const SearchPage = z.object({
  search: z.string().trim().min(1).max(254).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.uuid('take it from the page before').optional(),
});
