import { settingsRoutes } from './settings.handlers.ts';

export default settingsRoutes({
  path: '/providers/settings',
  whose: 'the organization',
  auth: ['session'],
  ownerOf: ({ orgId }) => orgId,
  permission: (action) => `providers:${action}`,
});
