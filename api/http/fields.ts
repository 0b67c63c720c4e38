import { z } from 'zod';

/** A name: trimmed and in one Unicode form (S268), then counted. */
export const nameText = (min: number, max: number) => z.string().trim().normalize('NFC').min(min).max(max);

export const emailText = z.email().max(254);

/** A password that is to be set (S30). */
export const newPassword = z.string().min(8).max(128);

/** A form that asks for the new password twice. */
export const repeated = <T extends z.ZodType<{ password: string; repeatPassword: string }>>(form: T) =>
  form.refine(({ password, repeatPassword }) => password === repeatPassword, {
    path: ['repeatPassword'],
    message: 'the two passwords differ',
  });

export const instant = z.iso.datetime();

/**
 * A date that somebody gives. Nothing here is older than computers' own count of time; what lies before the year 1 has
 * no date in Postgres, and days before it have none that sorts as a text, as days after the year 9999 have none.
 */
export const dateText = z.iso
  .date()
  .refine((text) => text >= '1970-01-01', 'must not be before 1970-01-01')
  .refine((text) => text < '9001-01-01', 'must not be after 9000-12-31');

/** A page of rows with ids; `search` looks into their names. */
export const SearchPage = z.object({
  search: z.string().trim().min(1).max(254).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.uuid('take it from the page before').optional(),
});

/** A page of a list whose rows have ids, the newest first. */
export const ListPage = SearchPage.omit({ search: true });
export const pageShape = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), nextCursor: z.string().nullable() });
