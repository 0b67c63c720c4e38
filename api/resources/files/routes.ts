import { fileRoutes } from './handlers.ts';
import { callbackRoute, jobRoutes } from './job.handlers.ts';
import { multipartRoutes } from './multipart.handlers.ts';
import { transformRoute } from './transform.handlers.ts';

export default [
  ...fileRoutes('/files'),
  ...multipartRoutes('/files'),
  ...jobRoutes('/files'),
  transformRoute('/files/:id/transform', ['session']),
  callbackRoute,
];
