import type { Database, Sql } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { Channels } from '../channels/index.ts';
import type { LinksPort, Posts } from '../posts/index.ts';

/** What the room is opened with. */
export interface FollowUpsDeps {
  sql: Database;
  clock: Clock;
  /** Of this start of this process; the host in the row. */
  incarnation: string;
  posts: Pick<Posts, 'sendWithoutSlot' | 'askWithoutSlot' | 'waitBehindPosts'>;
  channels: Pick<Channels, 'adapterOf' | 'rules' | 'needsLogin'>;
  /** Short links in the place of long ones. */
  links: Pick<LinksPort, 'apply'>;
  providers: Pick<Providers, 'list' | 'resolve'>;
  counts: CountsPort;
  log: Log;
}

/** What was read of posts for other ends. */
export interface CountsPort {
  /** The counts of posts that were read at most so long ago, by post. */
  recentOf(
    sql: Sql,
    orgId: string,
    postIds: readonly string[],
    withinMs: number,
  ): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>>;
}
