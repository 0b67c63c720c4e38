import type { Config } from '../../platform/config/index.ts';

/** Every setting that says how long something is kept, with its place in the configuration. */
export const RETENTION_VARIABLES = {
  ANALYTICS_DAILY_RETENTION_DAYS: 'analyticsDaily',
  ANALYTICS_POST_RETENTION_DAYS: 'analyticsPost',
  EMAIL_LOG_RETENTION_DAYS: 'emailLog',
  ERRORS_RETENTION_DAYS: 'errors',
  NOTIFICATIONS_RETENTION_DAYS: 'notifications',
  MULTIPART_UPLOAD_RETENTION_DAYS: 'multipartUploads',
  SOFT_DELETE_RETENTION_DAYS: 'softDeleted',
  IP_RETENTION_DAYS: 'ip',
  SOCIAL_COMMENT_RETENTION_DAYS: 'socialComments',
  CAMPAIGN_PURGE_DAYS: 'campaigns',
  AI_DESIGNER_SESSION_RETENTION_DAYS: 'designerSessions',
  MASTRA_TRACE_RETENTION_DAYS: 'traces',
  MEDIA_JOBS_RETENTION_DAYS: 'mediaJobs',
  AUDIT_RETENTION_DAYS: 'audit',
} as const satisfies Record<string, keyof Config['retention']>;
