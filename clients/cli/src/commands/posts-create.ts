import type { Command } from 'commander';
import { RefusedError, UsageError } from '../exit.ts';
import { countOf, dateOf, each, IDEMPOTENCY_KEY, objectOf, readObject } from '../input.ts';
import { bodyOf, type CreateBody, type PostOptions, requireNoFiles } from '../post-body.ts';
import type { Session } from '../session.ts';
import { requirePublished, waitWithWords } from './posts-wait.ts';
import { preflightColumns } from './preflight.ts';

interface Options extends PostOptions {
  file?: string;
  dryRun?: boolean;
  wait?: boolean;
  timeout?: number;
}

export function addCreate(posts: Command, session: Session): void {
  posts
    .command('create')
    .description('Create a post on one or more channels.')
    .option('--channel <id>', 'channel; may be repeated', each)
    .option('--text <text>', 'text or HTML; - reads it from the standard input')
    .option('--thread <text>', 'item that follows; may be repeated', each)
    .option('--media <file>', 'file, which is uploaded, or address of one; may be repeated', each)
    .option('--date <date>', 'when it goes out; at once unless given', dateOf)
    .option('--draft', 'keep it as a draft')
    .option('--settings <json>', 'settings of the network', objectOf)
    .option('--tag <tag>', 'tag; may be repeated', each)
    .option('--file <file>', 'the whole body of POST /public/v1/posts as JSON; - reads it from the standard input')
    .option(...IDEMPOTENCY_KEY)
    .option('--dry-run', 'say what would be refused; store nothing')
    .option('--wait', 'wait until the posts are out')
    .option('--timeout <seconds>', 'wait at most so long', countOf)
    .action(async (options: Options) => {
      requireSense(options);
      const rookery = await session.client();
      const body =
        options.file === undefined
          ? await bodyOf(session, rookery, options)
          : ((await readObject(session, options.file)) as CreateBody);
      if (options.dryRun) {
        const report = await rookery.preflight(body);
        session.output.rows(report, preflightColumns);
        if (report.some(({ valid }) => !valid)) throw new RefusedError('This would be refused');
        return;
      }
      const { idempotencyKey } = options;
      const created = await rookery.createPosts(body, idempotencyKey === undefined ? {} : { idempotencyKey });
      session.output.rows(created, [
        ['POST', ({ postId }) => postId],
        ['CHANNEL', ({ integration }) => integration],
      ]);
      if (!options.wait) return;
      const wait = ({ postId }: { postId: string }) => waitWithWords(session, rookery, postId, options.timeout);
      // one that is gone ends no wait for the others
      for (const end of await Promise.allSettled(created.map(wait))) {
        if (end.status === 'rejected') throw end.reason;
        requirePublished(end.value);
      }
    });
}

/** No option is taken and left without an effect. */
function requireSense({ file, dryRun, wait, timeout, idempotencyKey, ...post }: Options): void {
  const [other] = Object.keys(post);
  if (file !== undefined && other !== undefined)
    throw new UsageError(`--file is the whole body: --${other} has no place`);
  if (timeout !== undefined && !wait) throw new UsageError('--timeout is of --wait');
  if (!dryRun) return;
  if (wait || idempotencyKey !== undefined) throw new UsageError('A dry run creates nothing');
  requireNoFiles(post);
}
