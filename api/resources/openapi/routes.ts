import { documentRoute } from './handlers.ts';

export default [documentRoute({ path: '/openapi.json', prefix: '/', summary: 'This interface as OpenAPI 3.1.' })];
