import { documentRoute } from './handlers.ts';

export default [
  documentRoute({
    path: '/public/v1/openapi.json',
    prefix: '/public/v1/',
    summary: 'Get the OpenAPI document of the public API',
  }),
];
