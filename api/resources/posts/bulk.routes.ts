import { bulkRoutes } from './bulk.handlers.ts';

export default bulkRoutes('', ['session']);
