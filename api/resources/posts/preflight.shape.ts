import { z } from 'zod';
import { type PreflightEntry, WARNING_CODES } from '../../../src/publishing/posts/index.ts';

const Field = z.strictObject({ field: z.string(), message: z.string(), rule: z.string() });
export const Faults = z.array(Field);
export const Warnings = z.array(z.strictObject({ code: z.enum(WARNING_CODES), message: z.string() }));

/** The judgement of a body before it is stored: an entry for each of its posts (S116). */
export const PreflightReport = z.array(
  z.strictObject({
    id: z.string().meta({ description: 'The channel, as it was sent.' }),
    identifier: z.string().nullable(),
    name: z.string().nullable(),
    valid: z.boolean(),
    settingsError: z.boolean(),
    errors: z
      .union([z.literal(true), z.string()])
      .meta({ description: 'True: nothing but the settings is at fault; else the first fault.' }),
    emptyContent: z.boolean(),
    tooLong: z.boolean(),
    maximumCharacters: z.int().nullable(),
    warnings: Warnings,
    issues: Faults,
  }),
);

export const presentPreflight = (entries: readonly PreflightEntry[]): z.input<typeof PreflightReport> =>
  entries.map((entry) => ({
    id: entry.channelId,
    identifier: entry.providerId,
    name: entry.name,
    valid: entry.isValid,
    settingsError: entry.hasSettingsFault,
    errors: entry.fault ?? true,
    emptyContent: entry.isEmpty,
    tooLong: entry.isTooLong,
    maximumCharacters: entry.maximumCharacters,
    warnings: entry.warnings,
    issues: entry.issues,
  }));
