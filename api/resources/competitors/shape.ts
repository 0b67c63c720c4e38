import { z } from 'zod';
import type { CompetitorDay, CompetitorRow } from '../../../src/insights/competitors/index.ts';
import { dateText, nameText } from '../../http/fields.ts';

const Metrics = z.record(z.string(), z.number()).meta({ description: 'Counts, such as `followers` and `posts`.' });

/** An account of somebody else that the organization watches (S189). */
export const Competitor = z.strictObject({
  id: z.string(),
  providerIdentifier: z.string(),
  handle: z.string(),
  name: z.string(),
  picture: z.string().nullable(),
  lastSnapshotAt: z.string().nullable(),
  metrics: Metrics,
  error: z.string().nullable().meta({ description: 'Why it could not be read last.' }),
});
export const presentCompetitor = (row: CompetitorRow): z.input<typeof Competitor> => ({
  id: row.id,
  providerIdentifier: row.providerId,
  handle: row.handle,
  name: row.name,
  picture: row.picture,
  lastSnapshotAt: row.lastSnapshotAt?.toISOString() ?? null,
  metrics: row.metrics,
  error: row.error,
});

export const CompetitorHistory = z.array(z.strictObject({ date: z.string(), metrics: Metrics }));
export const presentCompetitorDays = (days: readonly CompetitorDay[]): z.input<typeof CompetitorHistory> =>
  days.map(({ date, metrics }) => ({ date, metrics }));

const Name = nameText(1, 200).nullish();
const providerIdentifier = z.string().min(1).max(64);
const handle = z.string().trim().min(1).max(300);
export const NewCompetitor = z.strictObject({
  providerIdentifier,
  handle: handle.meta({
    description: 'As the network writes it; of a network of many servers with the server: `@name@server`.',
  }),
  name: Name,
});
export const CompetitorChange = z.strictObject({
  providerIdentifier: providerIdentifier.optional().meta({ description: 'Stays as it is.' }),
  handle: handle.optional().meta({ description: 'Stays as it is.' }),
  name: Name.meta({ description: 'Null: the name that the network tells.' }),
});
export const CompetitorRange = z.object({ from: dateText.optional(), to: dateText.optional() });
