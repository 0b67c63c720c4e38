import { aliasesOf } from '../../http/route.ts';
import { deviceRoutes } from '../device/handlers.ts';

export default aliasesOf('/device', '/oauth/device', deviceRoutes('/oauth/device'));
