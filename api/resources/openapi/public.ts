import { documentRoute } from './handlers.ts';

export default [documentRoute({ path: '/public/v1/openapi.json', prefix: '/public/v1/', summary: 'The public part of this interface as OpenAPI 3.1.' })];
