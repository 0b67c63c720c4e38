import { aliasesOf } from '../../http/route.ts';
import { fileRoutes } from '../files/handlers.ts';
import { jobRoutes } from '../files/job.handlers.ts';
import { multipartRoutes } from '../files/multipart.handlers.ts';
import { transformRoute } from '../files/transform.handlers.ts';

export default [
  ...aliasesOf('/files', '/media', fileRoutes('/media')),
  ...aliasesOf('/files', '/media', multipartRoutes('/media')),
  ...aliasesOf('/files', '/media', jobRoutes('/media')),
  ...aliasesOf('/files', '/media', [transformRoute('/media/:id/transform', ['session'])]),
];
