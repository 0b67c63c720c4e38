import { stockRoutes } from '../files/stock.handlers.ts';

export default stockRoutes('/media');
