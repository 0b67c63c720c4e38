export { FileShape, PublicFile, presentPublicFile } from './present.ts';
export { type Media, openMedia } from './service.ts';
