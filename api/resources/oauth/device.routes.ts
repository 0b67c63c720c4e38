import { deviceRoutes } from '../device/handlers.ts';

export default deviceRoutes('/oauth/device');
