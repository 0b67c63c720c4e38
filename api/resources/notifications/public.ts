import { listRoute } from './handlers.ts';

export default [listRoute('/public/v1/notifications', ['api-key', 'oauth'])];
