import { fileRoutes } from './handlers.ts';
import { multipartRoutes } from './multipart.handlers.ts';

export default [...fileRoutes('/files'), ...multipartRoutes('/files')];
