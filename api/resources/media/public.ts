import { libraryRoutes, publicFiles } from '../files/handlers.ts';
import { jobRoute } from '../files/job.handlers.ts';

export default [
  ...libraryRoutes('/public/v1/media', publicFiles.auth),
  jobRoute('/public/v1/media/jobs/:id', { auth: publicFiles.auth, permission: 'media:read' }),
];
