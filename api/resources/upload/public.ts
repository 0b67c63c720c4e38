import { publicFiles, uploadRoute } from '../files/handlers.ts';

export default [uploadRoute('/public/v1/upload', publicFiles)];
