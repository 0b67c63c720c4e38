import type { AnyRoute } from '../http/route.ts';
import auth from './auth.ts';
import health from './health.ts';
import { openApiRoutes } from './openapi.ts';
import orgs from './orgs.ts';
import publicIsConnected from './public-v1/is-connected.ts';
import user from './user.ts';
import wellKnown from './well-known.ts';

/** Every route of the API: one line for each file. */
export const routes: readonly AnyRoute[] = [
  ...auth,
  ...health,
  ...orgs,
  ...publicIsConnected,
  ...user,
  ...wellKnown,
  ...openApiRoutes(() => routes),
];
