import { urlOfKey } from '../library/media/index.ts';
import type { JudgedRequest } from './consent.ts';
import type { DeviceCodes, WaitingDevice } from './devices.ts';
import type { AppRow, ApprovalRow } from './store.ts';
import type { Grant } from './tokens.ts';

interface Pictured {
  pictureId: string | null;
  pictureKey: string | null;
}
/** The picture as a file of the library; null when there is none, or it was deleted. */
const presentPicture = ({ pictureId, pictureKey }: Pictured, backendUrl: string) =>
  pictureId === null || pictureKey === null ? null : { id: pictureId, path: urlOfKey(backendUrl, pictureKey) };

/** S81. The secret is not in the row. */
export const presentApp = (row: AppRow, backendUrl: string) => ({
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

/** OA20: once, with the secret. */
export const presentNewApp = ({ id, name, description, pictureId, clientId, redirectUrl }: AppRow, clientSecret: string) => ({
  id,
  name,
  description,
  pictureId,
  clientId,
  clientSecret,
  redirectUrl,
});

/** What a consent screen shows (S85); `redirectUrl` is where the answer would go. */
export const presentRequest = ({ client, redirectUri, state, scope }: JudgedRequest, backendUrl: string) => ({
  app: {
    name: client.name,
    description: client.description,
    picture: presentPicture(client, backendUrl),
    clientId: client.clientId,
    redirectUrl: redirectUri,
  },
  state: state ?? null,
  scope: scope.join(' '),
  scopes: [...scope],
});

/** S98. */
export const presentApproval = (row: ApprovalRow, backendUrl: string) => ({
  id: row.id,
  app: { name: row.name, description: row.description, picture: presentPicture(row, backendUrl), clientId: row.clientId },
  scope: row.scope.join(' '),
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
});

/** S91. */
export const presentGrant = ({ orgId, accessToken, refreshToken, expiresIn, scope }: Grant, customerId: string | null) => ({
  id: orgId,
  cus: customerId,
  access_token: accessToken,
  token_type: 'bearer' as const,
  expires_in: expiresIn,
  refresh_token: refreshToken,
  scope: scope.join(' '),
});

/** From where the code of a device was asked for. */
export const presentWaitingDevice = ({ ip, userAgent, askedAt }: WaitingDevice) => ({ ip, userAgent, askedAt: askedAt.toISOString() });

/** S95. */
export const presentDevice = ({ deviceCode, userCode, expiresIn, interval }: DeviceCodes, frontendUrl: string) => ({
  device_code: deviceCode,
  user_code: userCode,
  verification_uri: `${frontendUrl.replace(/\/$/, '')}/device`,
  expires_in: expiresIn,
  interval,
});
