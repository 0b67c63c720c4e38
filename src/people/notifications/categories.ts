/** A kind of notice. Its defaults stand with the preferences; one without defaults follows the master (NO23). */
interface Category {
  /** For the subject of a mail with several of them. */
  label: string;
  /** Its mails can be collected in a digest (S238). */
  isInDigest?: true;
}

/** The categories of notices that are sent. */
export const CATEGORIES: Readonly<Record<string, Category>> = {
  post_published: { label: 'Published posts', isInDigest: true },
  post_failed: { label: 'Failed posts' },
  channel_issues: { label: 'Channel issues' },
  replies: { label: 'Replies', isInDigest: true },
  ai_budget: { label: 'AI budget' },
  media_jobs: { label: 'Media jobs', isInDigest: true },
  announcements: { label: 'Announcements' },
  streak_reminders: { label: 'Streaks' },
  agent_briefs: { label: 'Agent briefs' },
  analytics_alerts: { label: 'Analytics', isInDigest: true },
  approvals: { label: 'Approvals' },
  proposals: { label: 'Proposals' },
  webhook_issues: { label: 'Webhook issues' },
  storage: { label: 'Storage' },
};
export const labelOf = (category: string): string => CATEGORIES[category]?.label ?? 'Notifications';
