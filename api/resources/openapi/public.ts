import { documentRoute, publicDocument } from './handlers.ts';

export default [
  documentRoute({
    path: '/public/v1/openapi.json',
    documentOf: publicDocument,
    summary: 'Get the OpenAPI document of the public API',
  }),
];
