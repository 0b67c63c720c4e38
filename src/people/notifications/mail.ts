import type { Mail } from '../../delivery/email/index.ts';
import type { NotificationsDeps } from './deps.ts';

interface Written {
  to: { userId: string; email: string; name: string };
  /** Null where several organizations are in it. */
  orgId: string | null;
  heading: string;
  groups: readonly {
    orgName: string;
    lines: readonly { category: string; title: string; content: string; link: string | null }[];
    more: number;
  }[];
  /** The categories that its reader is taken off by it, or `digest`. */
  of: readonly string[];
}

/** The mail with these notices, and with the way to get no more of them (S181). */
export async function mailOf(
  { tokens, frontendUrl, backendUrl }: Pick<NotificationsDeps, 'tokens' | 'frontendUrl' | 'backendUrl'>,
  { to, orgId, heading, groups, of }: Written,
): Promise<Mail> {
  const page = frontendUrl.replace(/\/$/, '');
  const token = await tokens.signUnsubscribe({ sub: to.userId, of });
  return {
    to: to.email,
    orgId,
    content: {
      template: 'notification',
      data: {
        name: to.name,
        heading,
        groups: groups.map(({ orgName, lines, more }) => ({
          orgName,
          lines: lines.map(({ category, title, content, link }) => ({
            title,
            content,
            url: link === null ? null : page + link,
            ...(category === 'announcements' && { isWhole: true }), // the mail may be the only place with its words
          })),
          more,
        })),
        unsubscribeUrl: `${backendUrl.replace(/\/$/, '')}/notifications/unsubscribe?token=${token}`,
      },
    },
  };
}
