import type { Sql } from '../../platform/db/index.ts';
import type { Permission } from '../access/index.ts';
import { deliver, type Notice } from './deliver.ts';
import type { NotificationsDeps } from './deps.ts';
import { findPeople } from './people-store.ts';

/**
 * Shows a notice in the application to everybody who holds a permission, whatever they chose for its category but under
 * their master (S221): in the caller's transaction, once for each `source`.
 */
export async function tellHolders(
  deps: NotificationsDeps,
  tx: Sql,
  permission: Permission,
  notice: Pick<Notice, 'orgId' | 'source' | 'category' | 'title' | 'content' | 'link'>,
): Promise<void> {
  const { orgId } = notice;
  const to = await findPeople(tx, { members: [], holders: [{ orgId, permission }] });
  await deliver(deps, tx, [{ ...notice, data: {}, to, ways: { email: false, push: false }, overrides: true }]);
}
