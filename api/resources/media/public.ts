import { libraryRoutes, publicFiles } from '../files/handlers.ts';
import { jobRoute } from '../files/job.handlers.ts';
import { transformRoute } from '../files/transform.handlers.ts';

export default [
  ...libraryRoutes('/public/v1/media', publicFiles.auth),
  transformRoute('/public/v1/media/:id/transform', publicFiles.auth),
  jobRoute('/public/v1/media/jobs/:id', { auth: publicFiles.auth, permission: 'media:read' }),
];
