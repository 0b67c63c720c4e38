import { settingsRoutes } from './settings.handlers.ts';

export default settingsRoutes({
  path: '/admin/providers/settings',
  whose: 'the instance',
  auth: ['super-admin'],
  ownerOf: () => null,
});
