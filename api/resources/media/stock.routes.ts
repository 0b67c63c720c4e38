import { aliasesOf } from '../../http/route.ts';
import { stockRoutes } from '../files/stock.handlers.ts';

export default aliasesOf('/files', '/media', stockRoutes('/media'));
