import type { Database } from '../../platform/db/index.ts';
import { type Clock, notFound } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { Channels } from '../channels/index.ts';
import type { Posts } from '../posts/index.ts';

/** What the room is opened with. */
export interface CommentsDeps {
  sql: Database;
  clock: Clock;
  posts: Pick<Posts, 'askWithoutSlot'>;
  channels: Pick<Channels, 'adapterOf' | 'connect' | 'get' | 'needsLogin' | 'rules'>;
  providers: Pick<Providers, 'list'>;
  log: Log;
  /** COMMENTS_SWEEP_INTERVAL_MINUTES */
  minutes: number;
  /** SOCIAL_COMMENT_RETENTION_DAYS */
  days: number;
}

export const unknownComment = () => notFound('Comment not found');
