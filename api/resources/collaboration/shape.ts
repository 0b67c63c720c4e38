import { z } from 'zod';
import type { VersionRow, VersionWithContents as StoredVersion } from '../../../src/studio/collaboration/index.ts';
import { instant } from '../../http/fields.ts';

export const Ticket = z.strictObject({ token: z.string(), expiresAt: instant });
export const presentTicket = ({ token, expiresAt }: { token: string; expiresAt: Date }): z.input<typeof Ticket> => ({
  token,
  expiresAt: expiresAt.toISOString(),
});

/** A program that took part: by a key, by the token of an app, or as an agent whose edit came from elsewhere. */
const Program = z.strictObject({
  kind: z.enum(['api-key', 'oauth', 'agent']),
  id: z.string().nullable().meta({ description: 'Of the key, or of the approval of the app.' }),
  name: z.string(),
});

/**
 * A kept version of a document. `authors`: the users who took part since the version before it; `programs`: those by
 * which some of them did, and agents whose edits came in; `agents`: whose edit it
 * was kept before.
 */
export const Version = z.strictObject({
  id: z.string(),
  label: z.string().nullable(),
  reason: z.enum(['session', 'manual', 'restore', 'foreign_edit', 'agent_edit', 'too_late']),
  authors: z.array(z.string()),
  programs: z.array(Program),
  agents: z.array(z.string()),
  createdAt: instant,
});
export const presentVersion = ({
  id,
  label,
  reason,
  authors,
  programs,
  agents,
  createdAt,
}: VersionRow): z.input<typeof Version> => ({
  id,
  label,
  reason,
  authors,
  programs,
  agents,
  createdAt: createdAt.toISOString(),
});

export const VersionWithContents = Version.extend({
  content: z.string(),
  settings: z.record(z.string(), z.unknown()),
  media: z.array(z.unknown()),
  plan: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'Of a designer session: `<step>.title` and `<step>.brief`.' }),
});
export const presentVersionWithContents = ({
  contents: { content, settings, media, plan },
  ...row
}: StoredVersion): z.input<typeof VersionWithContents> => ({
  ...presentVersion(row),
  content,
  settings,
  media: [...media],
  ...(plan && { plan }),
});
