import type { AnyRoute } from '../http/route.ts';
import adminActors from './admin/actors.ts';
import auth from './auth.ts';
import files from './files.ts';
import health from './health.ts';
import { openApiRoutes } from './openapi.ts';
import integrations from './integrations.ts';
import metrics from './metrics.ts';
import orgs from './orgs.ts';
import posts from './posts.ts';
import publicFindSlot from './public-v1/find-slot.ts';
import publicIntegrations from './public-v1/integrations.ts';
import publicIsConnected from './public-v1/is-connected.ts';
import publicMedia from './public-v1/media.ts';
import publicPosts from './public-v1/posts.ts';
import publicWebhooks from './public-v1/webhooks.ts';
import sandbox from './sandbox.ts';
import uploads from './uploads.ts';
import user from './user.ts';
import webhooks from './webhooks.ts';
import wellKnown from './well-known.ts';

/** Every route of the API: one line for each file. */
export const routes: readonly AnyRoute[] = [
  ...adminActors,
  ...auth,
  ...files,
  ...health,
  ...integrations,
  ...metrics,
  ...orgs,
  ...posts,
  ...publicFindSlot,
  ...publicIntegrations,
  ...publicIsConnected,
  ...publicMedia,
  ...publicPosts,
  ...publicWebhooks,
  ...sandbox,
  ...uploads,
  ...user,
  ...webhooks,
  ...wellKnown,
  ...openApiRoutes(() => routes),
];
