import { tagRoutes } from '../posts/tags.handlers.ts';

export default tagRoutes('/public/v1/tags', ['api-key', 'oauth']);
