import { keepAnswer, type KeptAnswer } from '../../platform/db/index.ts';
import { isId, newId } from '../../platform/kernel/index.ts';
import { linkTo } from './told.ts';
import { deliver } from './deliver.ts';
import type { NotificationsDeps } from './deps.ts';
import { findTargets } from './people-store.ts';

/** The ways of a broadcast, by the names of clients (S179). */
export const BROADCAST_CHANNELS = ['email', 'push', 'in-app'] as const;
export interface Broadcast {
  title: string;
  content: string;
  link?: string | null | undefined;
  target: { type: 'all' } | { type: 'roles'; roles: readonly string[] } | { type: 'users'; userIds: readonly string[] };
  channels: readonly (typeof BROADCAST_CHANNELS)[number][];
}

/**
 * Tells members whatever they chose for announcements, under their masters (NO24, NO25) and by no mail where they have
 * unsubscribed (S181), in one commit with the answer for whoever repeats the request. Answers how many members it is for.
 */
export async function broadcast(
  deps: NotificationsDeps,
  orgId: string,
  { title, content, link = null, target, channels }: Broadcast,
  kept?: KeptAnswer<number>,
): Promise<number> {
  const { recipients, told } = await deps.sql.begin(async (tx) => {
    const to = await findTargets(tx, orgId, {
      ...(target.type === 'roles' && { roles: target.roles }),
      ...(target.type === 'users' && { userIds: target.userIds.filter(isId) }),
    });
    const userIds = await deliver(deps, tx, [
      {
        orgId,
        source: `broadcast ${newId()}`,
        category: 'announcements',
        title,
        content,
        link: link === null ? null : linkTo(link),
        data: {},
        to,
        ways: {
          email: channels.includes('email'),
          push: channels.includes('push'),
          inApp: channels.includes('in-app'),
        },
        overrides: true,
      },
    ]);
    await keepAnswer(tx, kept, to.length);
    return { recipients: to.length, told: userIds };
  });
  await deps.live.announce(told);
  return recipients;
}
