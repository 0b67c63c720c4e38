import { settingsRoutes } from '../_provider-settings-routes.ts';

export default settingsRoutes({ path: '/admin/providers/settings', whose: 'the whole instance', auth: ['super-admin'], ownerOf: () => null });
