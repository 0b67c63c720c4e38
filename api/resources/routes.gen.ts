// Written by `npm run gen` from the files beside it.
import type { AnyRoute } from '../http/route.ts';
import actorsAdmin from './actors/admin.ts';
import aiContentPipelineRoutes from './ai/content-pipeline.routes.ts';
import aiDesignerRoutes from './ai/designer.routes.ts';
import aiRoutes from './ai/routes.ts';
import aiTracesRoutes from './ai/traces.routes.ts';
import analyticsPublic from './analytics/public.ts';
import analyticsRoutes from './analytics/routes.ts';
import auditAdmin from './audit/admin.ts';
import authOauthRoutes from './auth/oauth.routes.ts';
import authRoutes from './auth/routes.ts';
import billingRoutes from './billing/routes.ts';
import brandKitsRoutes from './brand-kits/routes.ts';
import campaignsRoutes from './campaigns/routes.ts';
import channelsPublic from './channels/public.ts';
import collaborationRoutes from './collaboration/routes.ts';
import commentsRoutes from './comments/routes.ts';
import competitorsRoutes from './competitors/routes.ts';
import deviceRoutes from './device/routes.ts';
import egressRoutes from './egress/routes.ts';
import emailsAdmin from './emails/admin.ts';
import erasureAdmin from './erasure/admin.ts';
import errorsAdmin from './errors/admin.ts';
import filesRoutes from './files/routes.ts';
import filesStockRoutes from './files/stock.routes.ts';
import findSlotPublic from './find-slot/public.ts';
import generateVideoPublic from './generate-video/public.ts';
import groupsPublic from './groups/public.ts';
import healthRoutes from './health/routes.ts';
import impersonateAdmin from './impersonate/admin.ts';
import integrationSettingsPublic from './integration-settings/public.ts';
import integrationTriggerPublic from './integration-trigger/public.ts';
import integrationsPublic from './integrations/public.ts';
import integrationsRoutes from './integrations/routes.ts';
import isConnectedPublic from './is-connected/public.ts';
import lifetimeCodesAdmin from './lifetime-codes/admin.ts';
import mcpRoutes from './mcp/routes.ts';
import mePublic from './me/public.ts';
import mediaMcpRoutes from './media-mcp/routes.ts';
import mediaPublic from './media/public.ts';
import mediaRoutes from './media/routes.ts';
import mediaStockRoutes from './media/stock.routes.ts';
import membersApiKeysRoutes from './members/api-keys.routes.ts';
import membersRoutes from './members/routes.ts';
import messageRoutes from './message/routes.ts';
import metricsRoutes from './metrics/routes.ts';
import notificationsPreferencesRoutes from './notifications/preferences.routes.ts';
import notificationsPublic from './notifications/public.ts';
import notificationsPushKeyRoutes from './notifications/push-key.routes.ts';
import notificationsPushTokensRoutes from './notifications/push-tokens.routes.ts';
import notificationsRoutes from './notifications/routes.ts';
import notificationsUnsubscribeRoutes from './notifications/unsubscribe.routes.ts';
import oauthDeviceRoutes from './oauth/device.routes.ts';
import oauthRoutes from './oauth/routes.ts';
import openapiPublic from './openapi/public.ts';
import openapiRoutes from './openapi/routes.ts';
import orgsAdmin from './orgs/admin.ts';
import orgsRoutes from './orgs/routes.ts';
import paymentsRoutes from './payments/routes.ts';
import postsBulkRoutes from './posts/bulk.routes.ts';
import postsOldRoutes from './posts/old.routes.ts';
import postsPreflightRoutes from './posts/preflight.routes.ts';
import postsPublic from './posts/public.ts';
import postsRoutes from './posts/routes.ts';
import postsTagsRoutes from './posts/tags.routes.ts';
import postsValidRoutes from './posts/valid.routes.ts';
import proposalsRoutes from './proposals/routes.ts';
import providersAdmin from './providers/admin.ts';
import providersRoutes from './providers/routes.ts';
import providersSettingsAdmin from './providers/settings.admin.ts';
import providersSettingsRoutes from './providers/settings.routes.ts';
import queueAdmin from './queue/admin.ts';
import referenceRoutes from './reference/routes.ts';
import retentionAdmin from './retention/admin.ts';
import rolesRoutes from './roles/routes.ts';
import sandboxRoutes from './sandbox/routes.ts';
import sessionsAdmin from './sessions/admin.ts';
import settingsAuditRoutes from './settings/audit.routes.ts';
import settingsMcpRoutes from './settings/mcp.routes.ts';
import settingsRoutes from './settings/routes.ts';
import settingsTeamRoutes from './settings/team.routes.ts';
import socialPublic from './social/public.ts';
import sseRoutes from './sse/routes.ts';
import tagsPublic from './tags/public.ts';
import uploadFromUrlPublic from './upload-from-url/public.ts';
import uploadPublic from './upload/public.ts';
import uploadsRoutes from './uploads/routes.ts';
import userApiKeysRoutes from './user/api-keys.routes.ts';
import userApprovedAppsRoutes from './user/approved-apps.routes.ts';
import userOauthAppRoutes from './user/oauth-app.routes.ts';
import userRoutes from './user/routes.ts';
import userSessionsRoutes from './user/sessions.routes.ts';
import userStreakRoutes from './user/streak.routes.ts';
import usersAdmin from './users/admin.ts';
import usersPublic from './users/public.ts';
import videoPublic from './video/public.ts';
import webhooksEmailRoutes from './webhooks/email.routes.ts';
import webhooksPublic from './webhooks/public.ts';
import webhooksRoutes from './webhooks/routes.ts';
import wellKnownRoutes from './well-known/routes.ts';

export const routes: readonly AnyRoute[] = [
  ...actorsAdmin,
  ...aiContentPipelineRoutes,
  ...aiDesignerRoutes,
  ...aiRoutes,
  ...aiTracesRoutes,
  ...analyticsPublic,
  ...analyticsRoutes,
  ...auditAdmin,
  ...authOauthRoutes,
  ...authRoutes,
  ...billingRoutes,
  ...brandKitsRoutes,
  ...campaignsRoutes,
  ...channelsPublic,
  ...collaborationRoutes,
  ...commentsRoutes,
  ...competitorsRoutes,
  ...deviceRoutes,
  ...egressRoutes,
  ...emailsAdmin,
  ...erasureAdmin,
  ...errorsAdmin,
  ...filesRoutes,
  ...filesStockRoutes,
  ...findSlotPublic,
  ...generateVideoPublic,
  ...groupsPublic,
  ...healthRoutes,
  ...impersonateAdmin,
  ...integrationSettingsPublic,
  ...integrationTriggerPublic,
  ...integrationsPublic,
  ...integrationsRoutes,
  ...isConnectedPublic,
  ...lifetimeCodesAdmin,
  ...mcpRoutes,
  ...mePublic,
  ...mediaMcpRoutes,
  ...mediaPublic,
  ...mediaRoutes,
  ...mediaStockRoutes,
  ...membersApiKeysRoutes,
  ...membersRoutes,
  ...messageRoutes,
  ...metricsRoutes,
  ...notificationsPreferencesRoutes,
  ...notificationsPublic,
  ...notificationsPushKeyRoutes,
  ...notificationsPushTokensRoutes,
  ...notificationsRoutes,
  ...notificationsUnsubscribeRoutes,
  ...oauthDeviceRoutes,
  ...oauthRoutes,
  ...openapiPublic,
  ...openapiRoutes,
  ...orgsAdmin,
  ...orgsRoutes,
  ...paymentsRoutes,
  ...postsBulkRoutes,
  ...postsOldRoutes,
  ...postsPreflightRoutes,
  ...postsPublic,
  ...postsRoutes,
  ...postsTagsRoutes,
  ...postsValidRoutes,
  ...proposalsRoutes,
  ...providersAdmin,
  ...providersRoutes,
  ...providersSettingsAdmin,
  ...providersSettingsRoutes,
  ...queueAdmin,
  ...referenceRoutes,
  ...retentionAdmin,
  ...rolesRoutes,
  ...sandboxRoutes,
  ...sessionsAdmin,
  ...settingsAuditRoutes,
  ...settingsMcpRoutes,
  ...settingsRoutes,
  ...settingsTeamRoutes,
  ...socialPublic,
  ...sseRoutes,
  ...tagsPublic,
  ...uploadFromUrlPublic,
  ...uploadPublic,
  ...uploadsRoutes,
  ...userApiKeysRoutes,
  ...userApprovedAppsRoutes,
  ...userOauthAppRoutes,
  ...userRoutes,
  ...userSessionsRoutes,
  ...userStreakRoutes,
  ...usersAdmin,
  ...usersPublic,
  ...videoPublic,
  ...webhooksEmailRoutes,
  ...webhooksPublic,
  ...webhooksRoutes,
  ...wellKnownRoutes,
];
