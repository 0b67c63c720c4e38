import { publicFiles, uploadFromUrlRoute } from '../files/handlers.ts';

export default [uploadFromUrlRoute('/public/v1/upload-from-url', publicFiles)];
