/** 18 resources × 5 actions (S49, S50). `manage` implies the other four. */
export const RESOURCES = [
  'posts',
  'channels',
  'media',
  'analytics',
  'comments',
  'campaigns',
  'brand_kits',
  'competitors',
  'ai',
  'webhooks',
  'notifications',
  'members',
  'roles',
  'billing',
  'settings',
  'providers',
  'api_keys',
  'oauth_apps',
] as const;
export const ACTIONS = ['create', 'read', 'update', 'delete', 'manage'] as const;
export type Resource = (typeof RESOURCES)[number];
export type Action = (typeof ACTIONS)[number];
export type Permission = `${Resource}:${Action}`;
/** All 90. */
export const PERMISSIONS: readonly Permission[] = RESOURCES.flatMap((resource) =>
  ACTIONS.map((action): Permission => `${resource}:${action}`),
);
