import { documentRoute } from './handlers.ts';

export default [documentRoute({ path: '/openapi.json', prefix: '/', summary: 'Get the OpenAPI document' })];
