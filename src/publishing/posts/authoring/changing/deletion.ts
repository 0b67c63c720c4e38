import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import { deletedFact, withChannel } from '../../journal.ts';

/** Announces the first items of `changed`, which are deleted before they were published. */
export const announceDeleted = (sql: Sql): Fragment =>
  announce(sql, {
    'post.deleted': {
      from: withChannel(sql, sql`(select * from changed where root_post_id is null and state <> 'PUBLISHED')`),
      payload: deletedFact(sql),
    },
  });
