import { z } from 'zod';
import {
  instantOfLocal,
  instantOfUntil,
  invalidField,
  isTimezone,
  localTimeOf,
  parseRule,
  type RecurrenceRule,
} from '../../../platform/kernel/index.ts';
import { datesAfter, localOfPost, type Recurrence } from '../recurrence.ts';
import { asLocalDate } from './dates.ts';

const Rule = z
  .string()
  .max(500)
  .transform((text, { issues }): RecurrenceRule => {
    const rule = parseRule(text);
    if (typeof rule !== 'string') return rule;
    issues.push({ code: 'custom', message: rule, input: text });
    return z.NEVER;
  });
const Until = z
  .string()
  .max(100)
  .transform((text, check) => ({ ...asLocalDate(text, check), isDay: /^\s*\d{4}-\d{2}-\d{2}\s*$/.test(text) }));

/** The fields by which a post recurs (S120): `inter` every so many days, `recurrence` by a rule; nothing: once. */
export const RecurrenceFields = {
  inter: z.int().min(0).max(365).nullish().meta({
    description: 'Published again every so many days, at the same local time of `timezone` or of the profile.',
  }),
  recurrence: z
    .strictObject({
      rrule: Rule.optional(),
      timezone: z.string().max(100).refine(isTimezone, 'not an IANA time zone').optional(),
      until: Until.nullish(),
    })
    .refine(({ rrule, ...more }) => rrule !== undefined || Object.values(more).every((value) => value == null), {
      path: ['rrule'],
      message: 'is needed',
    })
    .refine(({ rrule, timezone }) => rrule === undefined || timezone !== undefined, {
      path: ['timezone'],
      message: 'is needed',
    })
    .refine(({ rrule, until }) => !until || (rrule?.until ?? rrule?.count) === undefined, {
      path: ['until'],
      message: 'does not go with COUNT or UNTIL in rrule',
    })
    .nullish()
    .meta({
      description:
        'Published again by a rule (RFC 5545) of FREQ DAILY to YEARLY with INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, ' +
        'BYSETPOS, WKST, COUNT, UNTIL; the time of day is that of the date, by the clocks of its `timezone`.',
    }),
};
interface Wished {
  inter?: number | null | undefined;
  recurrence?: z.output<typeof RecurrenceFields.recurrence>;
}

/** Tells whether a body says how its posts recur. */
export const asksRecurrence = ({ inter, recurrence }: Wished): boolean =>
  Boolean(inter) || recurrence?.rrule !== undefined;

/** Tells whether the clocks of the profile of whoever writes it say when posts of a body recur. */
export const usesProfileZone = ({ inter, timezone }: Wished & { timezone?: string | undefined }): boolean =>
  Boolean(inter) && !timezone;

/**
 * What a body asks for, for a post of this date; `local`: the date as it was written, by the clocks of `timezone`;
 * `before`: how the post recurs so far, whose hour stays where its clocks skip it on this day. With `inter` the zone is
 * `timezone`, else that of the profile of whoever writes it.
 * @throws AppError `validation_failed` with the field, also for a rule that names no second date
 */
export function wishedRecurrence(
  { inter, recurrence, timezone: zone }: Wished & { timezone?: string | undefined },
  { at, local, before }: { at: Date; local?: string | undefined; before: Recurrence | null | undefined },
  profileZone: string,
): Recurrence {
  if (inter && recurrence?.rrule) throw invalidField('inter', 'does not go with recurrence', 'conflict');
  const timezone = recurrence?.timezone ?? zone ?? profileZone;
  const localAsItIs = before?.timezone === timezone ? localOfPost(before, at) : localTimeOf(at, timezone);
  const wished: Recurrence = {
    days: recurrence?.rrule?.days ?? `FREQ=DAILY;INTERVAL=${inter}`,
    timezone,
    local: local !== undefined && (zone ?? 'UTC') === timezone ? local : localAsItIs,
    until: untilOf(recurrence, timezone)?.toISOString() ?? null,
    left: recurrence?.rrule?.count ?? null,
    inter: inter || null,
  };
  const field = inter ? 'inter' : recurrence?.until ? 'recurrence.until' : 'recurrence.rrule';
  if (datesAfter(wished, at, { most: 1 }).length === 0)
    throw invalidField(field, 'leaves no date after that of the post', 'no_dates');
  return wished;
}

function untilOf(recurrence: Wished['recurrence'], timezone: string): Date | undefined {
  const { rrule, until } = recurrence ?? {};
  if (rrule?.until !== undefined) return instantOfUntil(rrule.until, (text) => instantOfLocal(text, timezone));
  if (!until) return undefined;
  const { at, isLocal, isDay } = until;
  const local = at.toISOString();
  return isLocal ? instantOfLocal(isDay ? `${local.slice(0, 10)}T23:59:59.999` : local.slice(0, -1), timezone) : at;
}
