import { fileRoutes } from '../files/handlers.ts';
import { jobRoutes } from '../files/job.handlers.ts';
import { multipartRoutes } from '../files/multipart.handlers.ts';
import { transformRoute } from '../files/transform.handlers.ts';

export default [
  ...fileRoutes('/media'),
  ...multipartRoutes('/media'),
  ...jobRoutes('/media'),
  transformRoute('/media/:id/transform', ['session']),
];
