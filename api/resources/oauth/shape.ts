import { z } from 'zod';
import { urlOfKey } from '../../../src/library/media/index.ts';
import type { Grant, JudgedRequest } from '../../../src/oauth-server/index.ts';

export const Picture = z.object({ id: z.string(), path: z.string() }).nullable();
interface Pictured {
  pictureId: string | null;
  pictureKey: string | null;
}
/** The picture as a file of the library; null when there is none, or it was deleted. */
export const presentPicture = ({ pictureId, pictureKey }: Pictured, backendUrl: string): z.input<typeof Picture> =>
  pictureId === null || pictureKey === null ? null : { id: pictureId, path: urlOfKey(backendUrl, pictureKey) };

export const AuthorizationRequest = z.object({
  app: z.object({
    name: z.string(),
    description: z.string(),
    picture: Picture,
    clientId: z.string(),
    clientHost: z
      .string()
      .nullable()
      .meta({ description: 'The host whose document says who the app is; null where it is registered here.' }),
    redirectUrl: z.string(),
  }),
  state: z.string().nullable(),
  scope: z.string(),
  scopes: z.array(z.string()),
});

/** The content of a consent screen (S85); `redirectUrl` is where the answer would go. */
export const presentRequest = (
  { client, redirectUri, state, scope }: JudgedRequest,
  backendUrl: string,
): z.input<typeof AuthorizationRequest> => ({
  app: {
    name: client.name,
    description: client.description,
    picture: presentPicture(client, backendUrl),
    clientId: client.clientId,
    clientHost: URL.parse(client.clientId)?.host ?? null,
    redirectUrl: redirectUri,
  },
  state: state ?? null,
  scope: scope.join(' '),
  scopes: [...scope],
});

export const TokenPair = z.object({
  id: z.string(),
  cus: z.string().nullable(),
  access_token: z.string(),
  token_type: z.literal('bearer'),
  expires_in: z.int(),
  refresh_token: z.string(),
  scope: z.string(),
});

/** S91. */
export const presentGrant = (
  { orgId, accessToken, refreshToken, expiresIn, scope }: Grant,
  customerId: string | null,
): z.input<typeof TokenPair> => ({
  id: orgId,
  cus: customerId,
  access_token: accessToken,
  token_type: 'bearer' as const,
  expires_in: expiresIn,
  refresh_token: refreshToken,
  scope: scope.join(' '),
});
