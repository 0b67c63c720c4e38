// Written by `npm run gen` from the files beside it.
import * as aiContentPipelineShape from './ai/content-pipeline.shape.ts';
import * as aiDesignerShape from './ai/designer.shape.ts';
import * as aiShape from './ai/shape.ts';
import * as analyticsShape from './analytics/shape.ts';
import * as auditShape from './audit/shape.ts';
import * as authShape from './auth/shape.ts';
import * as billingShape from './billing/shape.ts';
import * as brandKitsShape from './brand-kits/shape.ts';
import * as campaignsShape from './campaigns/shape.ts';
import * as collaborationShape from './collaboration/shape.ts';
import * as commentsShape from './comments/shape.ts';
import * as competitorsShape from './competitors/shape.ts';
import * as deviceShape from './device/shape.ts';
import * as egressShape from './egress/shape.ts';
import * as emailsShape from './emails/shape.ts';
import * as erasureShape from './erasure/shape.ts';
import * as errorsShape from './errors/shape.ts';
import * as filesJobShape from './files/job.shape.ts';
import * as filesShape from './files/shape.ts';
import * as integrationsPlugsShape from './integrations/plugs.shape.ts';
import * as integrationsShape from './integrations/shape.ts';
import * as membersShape from './members/shape.ts';
import * as notificationsShape from './notifications/shape.ts';
import * as oauthShape from './oauth/shape.ts';
import * as orgsAdminShape from './orgs/admin.shape.ts';
import * as orgsShape from './orgs/shape.ts';
import * as postsBulkShape from './posts/bulk.shape.ts';
import * as postsPreflightShape from './posts/preflight.shape.ts';
import * as postsShape from './posts/shape.ts';
import * as postsTagsShape from './posts/tags.shape.ts';
import * as proposalsShape from './proposals/shape.ts';
import * as providersSettingsShape from './providers/settings.shape.ts';
import * as providersShape from './providers/shape.ts';
import * as retentionShape from './retention/shape.ts';
import * as rolesShape from './roles/shape.ts';
import * as sandboxShape from './sandbox/shape.ts';
import * as sessionsShape from './sessions/shape.ts';
import * as settingsMcpShape from './settings/mcp.shape.ts';
import * as settingsShape from './settings/shape.ts';
import * as userApiKeysShape from './user/api-keys.shape.ts';
import * as userApprovedAppsShape from './user/approved-apps.shape.ts';
import * as userOauthAppShape from './user/oauth-app.shape.ts';
import * as userSessionsShape from './user/sessions.shape.ts';
import * as userShape from './user/shape.ts';
import * as usersShape from './users/shape.ts';
import * as webhooksEventsShape from './webhooks/events.shape.ts';
import * as webhooksShape from './webhooks/shape.ts';

export const shapeModules: readonly object[] = [
  aiContentPipelineShape,
  aiDesignerShape,
  aiShape,
  analyticsShape,
  auditShape,
  authShape,
  billingShape,
  brandKitsShape,
  campaignsShape,
  collaborationShape,
  commentsShape,
  competitorsShape,
  deviceShape,
  egressShape,
  emailsShape,
  erasureShape,
  errorsShape,
  filesJobShape,
  filesShape,
  integrationsPlugsShape,
  integrationsShape,
  membersShape,
  notificationsShape,
  oauthShape,
  orgsAdminShape,
  orgsShape,
  postsBulkShape,
  postsPreflightShape,
  postsShape,
  postsTagsShape,
  proposalsShape,
  providersSettingsShape,
  providersShape,
  retentionShape,
  rolesShape,
  sandboxShape,
  sessionsShape,
  settingsMcpShape,
  settingsShape,
  userApiKeysShape,
  userApprovedAppsShape,
  userOauthAppShape,
  userSessionsShape,
  userShape,
  usersShape,
  webhooksEventsShape,
  webhooksShape,
];
