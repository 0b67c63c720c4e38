import { z } from 'zod';
import type { DeviceCodes, WaitingDevice as WaitingDeviceRow } from '../../../src/oauth-server/index.ts';
import { instant } from '../../http/fields.ts';

export const DeviceAuthorization = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  expires_in: z.int(),
  interval: z.int(),
});

/** S95. */
export const presentDevice = (
  { deviceCode, userCode, expiresIn, interval }: DeviceCodes,
  frontendUrl: string,
): z.input<typeof DeviceAuthorization> => ({
  device_code: deviceCode,
  user_code: userCode,
  verification_uri: `${frontendUrl.replace(/\/$/, '')}/device`,
  expires_in: expiresIn,
  interval,
});

export const WaitingDevice = z.object({ ip: z.string(), userAgent: z.string(), askedAt: instant });

/** The origin of the request for a device code. */
export const presentWaitingDevice = ({ ip, userAgent, askedAt }: WaitingDeviceRow): z.input<typeof WaitingDevice> => ({
  ip,
  userAgent,
  askedAt: askedAt.toISOString(),
});
