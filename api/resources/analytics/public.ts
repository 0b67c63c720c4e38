import { historyRoute, numbersRoutes } from './handlers.ts';

const auth = ['api-key', 'oauth', 'session'] as const;

export default [
  ...numbersRoutes('/public/v1/analytics', auth),
  historyRoute('/public/v1/analytics/:integrationId/history', auth),
];
