const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Waits after the first attempt, the second, …; after the last one it is given up, a day after it was written. */
const WAITS_MS = [5_000, 30_000, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR];
/** How long to wait after this failed attempt; null when it was the last. */
export const mailRetryInMs = (attempt: number): number | null => WAITS_MS[attempt - 1] ?? null;

/** Where the order of organizations begins. */
export const FIRST_OWNER = '00000000-0000-0000-0000-000000000000';
/** The last one of those whose notices were claimed behind `after`, in the order of ids that begins again at its end. */
export function lastServedOwner(after: string, owners: readonly string[]): string {
  const begunAgain = owners.filter((owner) => owner <= after);
  return (begunAgain.length > 0 ? begunAgain : owners).toSorted().at(-1) ?? after;
}

const REASON_LENGTH = 500;
/**
 * What may be kept of a server's words: no address of a page, for the links of our mails carry secrets, and nothing but
 * one line.
 */
export const reasonOf = (words: string): string =>
  words
    .replace(/\b\w+:\/\/\S+/g, '…')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, REASON_LENGTH);

/** An address in the place of one, of people whose login provider has none: the domain exists nowhere (RFC 6761). */
export const isPlaceholder = (address: string): boolean => /[@.]invalid$/i.test(address);
