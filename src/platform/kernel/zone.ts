import { Temporal } from 'temporal-polyfill';

// All arithmetic of wall clocks. A local time is what the clocks of a zone show, written without an offset:
// `2026-09-01T10:00:00.000`.

/** Names that were found to be zones: to find out costs as much as a statement. They count in any case of letters. */
const known = new Set<string>();
const MOST_KNOWN = 1_000;

/** Tells whether a text is an IANA time zone that this platform knows; offsets such as `+01:00` are none. */
export function isTimezone(text: string): boolean {
  if (known.has(text)) return true;
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    if (new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone === '') return false;
  } catch {
    return false;
  }
  if (known.size < MOST_KNOWN) known.add(text);
  return true;
}

/** Writes the local time of a zone at an instant. */
export const localTimeOf = (instant: Date, timezone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(instant.getTime())
    .toZonedDateTimeISO(timezone)
    .toPlainDateTime()
    .toString({ fractionalSecondDigits: 3 });

/**
 * Finds the instant at which the clocks of a zone show a local time: of two the first, or the last; a time that they
 * skip moves forward by what they skip.
 */
export const instantOfLocal = (local: string, timezone: string, which: 'first' | 'last' = 'first'): Date =>
  new Date(
    Temporal.PlainDateTime.from(local).toZonedDateTime(timezone, {
      disambiguation: which === 'first' ? 'compatible' : 'later',
    }).epochMilliseconds,
  );

/** To find the changes of a zone's clocks costs as much as so many local times. */
const WORTH_IT = 20;
const DAY_MS = 86_400_000;

/** The same of many local times, in their order: a zone is asked once for each stretch in which its clocks stay. */
export function instantsOfLocals(locals: readonly string[], timezone: string): Date[] {
  if (locals.length < WORTH_IT) return locals.map((local) => instantOfLocal(local, timezone));
  let stretch = { from: Infinity, to: Infinity, offsetMs: 0 };
  return locals.map((local) => {
    const at = Date.parse(`${local}Z`) - stretch.offsetMs;
    // a day away from its ends no other stretch shows this time
    if (at > stretch.from + DAY_MS && at < stretch.to - DAY_MS) return new Date(at);
    const zoned = Temporal.PlainDateTime.from(local).toZonedDateTime(timezone, { disambiguation: 'compatible' });
    const change = (direction: 'next' | 'previous') => zoned.getTimeZoneTransition(direction)?.epochMilliseconds;
    stretch = {
      from: change('previous') ?? -Infinity,
      to: change('next') ?? Infinity,
      offsetMs: zoned.offsetNanoseconds / 1e6,
    };
    return new Date(zoned.epochMilliseconds);
  });
}

/** Tells whether the clocks of a zone skip a local time or show it twice; undefined: it is there once. */
export function clockChangeOf(local: string, timezone: string): 'skipped' | 'doubled' | undefined {
  const plain = Temporal.PlainDateTime.from(local);
  const [first, last] = (['earlier', 'later'] as const).map((disambiguation) =>
    plain.toZonedDateTime(timezone, { disambiguation }),
  );
  if (first!.epochMilliseconds === last!.epochMilliseconds) return undefined;
  return first!.toPlainDateTime().equals(plain) ? 'doubled' : 'skipped';
}
