import { PublicFile, presentPublicFile } from '../../../src/library/media/index.ts';
import { mediaRoutes } from '../_media-routes.ts';

export default mediaRoutes({
  auth: ['api-key', 'oauth'],
  paths: { upload: ['/public/v1/upload'], fromUrl: '/public/v1/upload-from-url', library: '/public/v1/media' },
  answer: PublicFile,
  present: presentPublicFile,
});
