import { z } from 'zod';
import type { AppRow } from '../../../src/oauth-server/index.ts';
import { instant } from '../../http/fields.ts';
import { Picture, presentPicture } from '../oauth/shape.ts';

export const App = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  pictureId: z.string().nullable(),
  picture: Picture,
  redirectUrl: z.string(),
  clientId: z.string(),
  scope: z.string(),
  createdAt: instant,
  updatedAt: instant,
});

/** S81. The secret is not in the row. */
export const presentApp = (row: AppRow, backendUrl: string): z.input<typeof App> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  pictureId: row.pictureId,
  picture: presentPicture(row, backendUrl),
  redirectUrl: row.redirectUrl,
  clientId: row.clientId,
  scope: row.scope.join(' '),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});

export const NewApp = App.pick({
  id: true,
  name: true,
  description: true,
  pictureId: true,
  clientId: true,
  redirectUrl: true,
}).extend({
  clientSecret: z.string(),
});

/** OA20: once, with the secret. */
export const presentNewApp = (
  { id, name, description, pictureId, clientId, redirectUrl }: AppRow,
  clientSecret: string,
): z.input<typeof NewApp> => ({
  id,
  name,
  description,
  pictureId,
  clientId,
  clientSecret,
  redirectUrl,
});
