import { fileRoutes } from '../files/handlers.ts';
import { multipartRoutes } from '../files/multipart.handlers.ts';

export default [...fileRoutes('/media'), ...multipartRoutes('/media')];
