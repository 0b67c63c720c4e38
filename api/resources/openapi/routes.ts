import { documentRoute, wholeDocument } from './handlers.ts';

export default [
  documentRoute({ path: '/openapi.json', documentOf: wholeDocument, summary: 'Get the OpenAPI document' }),
];
