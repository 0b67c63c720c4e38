import { z } from 'zod';

/** A name: trimmed and in one Unicode form (S268), then counted. */
export const nameText = (min: number, max: number) => z.string().trim().normalize('NFC').min(min).max(max);

export const instant = z.iso.datetime();

/** An ISO 8601 time with `Z` or an offset, as a Date. */
export const futureInstant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
