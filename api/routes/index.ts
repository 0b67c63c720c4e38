import type { AnyRoute } from '../http/route.ts';
import adminActors from './admin/actors.ts';
import adminLifetimeCodes from './admin/lifetime-codes.ts';
import adminLimitOverrides from './admin/limit-overrides.ts';
import adminAudit from './admin/audit.ts';
import adminEmails from './admin/emails.ts';
import adminErrors from './admin/errors.ts';
import adminImpersonate from './admin/impersonate.ts';
import adminOrgs from './admin/orgs.ts';
import adminProviders from './admin/providers.ts';
import adminQueue from './admin/queue.ts';
import adminUsers from './admin/users.ts';
import approvedApps from './approved-apps.ts';
import adminProviderSettings from './admin/provider-settings.ts';
import auth from './auth.ts';
import authProviders from './auth-providers.ts';
import authMail from './auth-mail.ts';
import billing from './billing.ts';
import device from './device.ts';
import egress from './egress.ts';
import files from './files.ts';
import stock from './stock.ts';
import health from './health.ts';
import { openApiRoutes } from './openapi.ts';
import integrations from './integrations.ts';
import members from './members.ts';
import membersApiKeys from './members-api-keys.ts';
import metrics from './metrics.ts';
import notifications from './notifications.ts';
import oauthApp from './oauth-app.ts';
import oauth from './oauth.ts';
import orgs from './orgs.ts';
import payments from './payments.ts';
import posts from './posts.ts';
import postsLinks from './posts-links.ts';
import providerSettings from './provider-settings.ts';
import providers from './providers.ts';
import publicFindSlot from './public-v1/find-slot.ts';
import publicIntegrations from './public-v1/integrations.ts';
import publicIsConnected from './public-v1/is-connected.ts';
import publicMedia from './public-v1/media.ts';
import publicPosts from './public-v1/posts.ts';
import publicUsers from './public-v1/users.ts';
import publicWebhooks from './public-v1/webhooks.ts';
import roles from './roles.ts';
import sandbox from './sandbox.ts';
import settings from './settings.ts';
import settingsTeam from './settings-team.ts';
import settingsAudit from './settings-audit.ts';
import uploads from './uploads.ts';
import user from './user.ts';
import userApiKeys from './user-api-keys.ts';
import userProfile from './user-profile.ts';
import userSessions from './user-sessions.ts';
import webhooks from './webhooks.ts';
import webhooksEmail from './webhooks-email.ts';
import wellKnown from './well-known.ts';

/** Every route of the API: one line for each file. */
export const routes: readonly AnyRoute[] = [
  ...adminActors,
  ...adminLifetimeCodes,
  ...adminLimitOverrides,
  ...adminAudit,
  ...adminEmails,
  ...adminErrors,
  ...adminImpersonate,
  ...adminOrgs,
  ...adminProviders,
  ...adminQueue,
  ...adminUsers,
  ...approvedApps,
  ...adminProviderSettings,
  ...auth,
  ...authProviders,
  ...authMail,
  ...device,
  ...billing,
  ...egress,
  ...files,
  ...stock,
  ...health,
  ...integrations,
  ...members,
  ...membersApiKeys,
  ...metrics,
  ...notifications,
  ...oauth,
  ...oauthApp,
  ...orgs,
  ...payments,
  ...posts,
  ...postsLinks,
  ...providers,
  ...providerSettings,
  ...publicFindSlot,
  ...publicIntegrations,
  ...publicIsConnected,
  ...publicMedia,
  ...publicPosts,
  ...publicUsers,
  ...publicWebhooks,
  ...roles,
  ...sandbox,
  ...settings,
  ...settingsTeam,
  ...settingsAudit,
  ...uploads,
  ...user,
  ...userApiKeys,
  ...userProfile,
  ...userSessions,
  ...webhooks,
  ...webhooksEmail,
  ...wellKnown,
  ...openApiRoutes(() => routes),
];
