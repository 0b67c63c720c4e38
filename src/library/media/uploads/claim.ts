/** How long who ends an upload holds it: completing takes a look at the whole, which may have to be fetched. */
export const CLAIM_MS = 15 * 60_000;
