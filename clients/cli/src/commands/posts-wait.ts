import type { Command } from 'commander';
import type { PostWithThread, Rookery } from '../../../typescript/src/index.ts';
import { RefusedError } from '../exit.ts';
import { countOf } from '../input.ts';
import type { Session } from '../session.ts';
import { wholePost } from './columns.ts';

export function addWait(posts: Command, session: Session): void {
  posts
    .command('wait')
    .description('Wait until a post is out; ends with 4 when it failed or is a draft.')
    .argument('<post>', 'id of the post')
    .option('--timeout <seconds>', 'at most so long; else until 10 minutes past its date', countOf)
    .action(async (id: string, { timeout }: { timeout?: number }) => {
      const post = await waitWithWords(session, await session.client(), id, timeout);
      session.output.one(post, wholePost);
      requirePublished(post);
    });
}

/** Waits, and tells each state that the post comes to. */
export const waitWithWords = ({ output, signal }: Session, rookery: Rookery, id: string, seconds?: number) =>
  rookery.waitFor(id, {
    signal,
    ...(seconds !== undefined && { timeoutMs: seconds * 1_000 }),
    onChange: ({ state, detail }) => output.say(`${id} ${detail ?? state}`),
  });

export function requirePublished({ id, state, error }: PostWithThread): void {
  if (state !== 'PUBLISHED') throw new RefusedError(`The post ${id} is not out: ${error ?? state}`);
}
