import { stockRoutes } from './stock.handlers.ts';

export default stockRoutes('/files');
