import { z } from 'zod';
import type { SettingView } from '../../../src/providers/settings/index.ts';

export const Setting = z.strictObject({
  id: z.string(),
  domain: z.string(),
  providerId: z.string(),
  version: z.string(),
  name: z.string(),
  isDefault: z.boolean(),
  enabled: z.boolean(),
  options: z.record(z.string(), z.string()),
  credentials: z.record(z.string(), z.strictObject({ set: z.boolean(), hint: z.string().nullable() })),
  status: z.enum(['preview', 'active', 'deprecated', 'retired']),
  upgradeAvailable: z.string().nullable(),
  lastTestAt: z.string().nullable(),
  lastTestOk: z.boolean().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
});

/** The public shape of a setting (S156). Secret values are not in it. */
export const presentSetting = (view: SettingView): z.input<typeof Setting> => ({
  id: view.id,
  domain: view.domain,
  providerId: view.providerId,
  version: view.version,
  name: view.name,
  isDefault: view.isDefault,
  enabled: view.enabled,
  options: { ...view.options },
  credentials: { ...view.secrets },
  status: view.status,
  upgradeAvailable: view.upgradeAvailable,
  lastTestAt: view.lastTestAt?.toISOString() ?? null,
  lastTestOk: view.lastTestOk,
  createdAt: view.createdAt.toISOString(),
  updatedAt: view.updatedAt.toISOString(),
});
