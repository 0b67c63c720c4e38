import { libraryRoutes, publicFiles } from '../files/handlers.ts';

export default libraryRoutes('/public/v1/media', publicFiles.auth);
