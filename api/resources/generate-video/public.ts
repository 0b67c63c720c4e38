import { generateVideoRoute } from '../files/job.handlers.ts';

export default [
  generateVideoRoute('/public/v1/generate-video', { auth: ['api-key', 'oauth'], permission: 'media:create' }),
];
