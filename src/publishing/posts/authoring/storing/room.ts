import type { Fragment, Sql } from '../../../../platform/db/index.ts';

/** How long a post that the plan has no room for waits until somebody looks for room again. */
const LOOK_MS = 10 * 60_000;

/** Sets when somebody looks for room for a post again. */
export const looksForRoomLater = (sql: Sql): Fragment => sql`look_up_at = now() + ${LOOK_MS}::float8 * interval '1 ms'`;
