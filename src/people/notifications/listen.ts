import { type Fact, type Listener, listener } from '../../platform/outbox/index.ts';
import { permissionsOf } from '../access/index.ts';
import type { Told } from './told.ts';
import { TOLD_TOPICS, toldOf } from './catalog.ts';
import { deliver, type Notice } from './deliver.ts';
import type { NotificationsDeps } from './deps.ts';
import { findPeople, type PersonRow, type Wanted } from './people-store.ts';

interface Heard {
  fact: Fact;
  told: Told;
}

/** Tells people of facts: what they see, mails and pushes are written in the commit that moves the cursor. */
export const notificationsListener = (deps: NotificationsDeps): Listener =>
  listener({
    name: 'notifications',
    topics: TOLD_TOPICS,
    lookMs: 1_000, // people do not notice
    async hear(tx, facts, _wake, afterCommit) {
      const heard = facts.flatMap((fact) => {
        const told = toldOf(fact);
        return told ? [{ fact, told }] : [];
      });
      const people = Map.groupBy(await findPeople(tx, wantedBy(heard)), ({ orgId }) => orgId);
      const readers = await deliver(
        deps,
        tx,
        heard.map(({ fact, told }) => noticeOf(fact, told, people.get(fact.orgId) ?? [])),
      );
      afterCommit(() => deps.live.announce(readers));
    },
  });

/** Everybody whom one of the facts concerns; each organization and permission is asked for once. */
function wantedBy(heard: readonly Heard[]): Wanted {
  const members = new Map<string, { orgId: string; userId: string }>();
  const holders = new Map<string, Wanted['holders'][number]>();
  for (const { fact, told } of heard) {
    const { orgId } = fact;
    const { permission } = told;
    const makers = makersOf(told);
    for (const userId of makers ?? []) members.set(`${orgId} ${userId}`, { orgId, userId });
    if (makers) holders.set(`${orgId} owner`, { orgId, permission: 'owner' }); // in the place of one who is gone
    if (told.reader !== undefined) members.set(`${orgId} ${told.reader}`, { orgId, userId: told.reader });
    else if (permission) holders.set(`${orgId} ${permission}`, { orgId, permission });
  }
  return { members: [...members.values()], holders: [...holders.values()] };
}

/** Whose it is; undefined for a fact that is nobody's. */
const makersOf = ({ maker, makers }: Told): readonly string[] | undefined =>
  makers ?? (maker === undefined ? undefined : maker === null ? [] : [maker]);

function noticeOf({ id, orgId }: Fact, fact: Told, members: readonly PersonRow[]): Notice {
  const { maker: _, makers: __, reader, permission, ...told } = fact;
  const wanted = makersOf(fact);
  const makers =
    wanted &&
    [
      members.filter(({ userId }) => wanted.includes(userId)),
      members.filter(({ roleKey }) => roleKey === 'owner'),
    ].find((some) => some.length > 0);
  const holders =
    permission === undefined
      ? []
      : members.filter(
          ({ userId, roleKey, granted }) =>
            (reader ?? userId) === userId && permissionsOf(roleKey, false, granted).has(permission),
        );
  return { ...told, orgId, source: `fact ${id}`, to: [...new Set([...(makers ?? []), ...holders])] };
}
