import type { Command } from 'commander';
import { UsageError } from '../exit.ts';
import { dateOf, each, objectOf, readText } from '../input.ts';
import type { Session } from '../session.ts';
import { wholePost } from './columns.ts';

interface Options {
  text?: string;
  date?: string;
  settings?: Record<string, unknown>;
  title?: string;
  tag?: string[];
}

export function addEdit(posts: Command, session: Session): void {
  posts
    .command('edit')
    .description('Change what is given of a post that is not out yet.')
    .argument('<post>', 'id of the post')
    .option('--text <text>', 'text or HTML; - reads it from the standard input')
    .option('--date <date>', 'when it goes out', dateOf)
    .option('--settings <json>', 'settings of the network, merged', objectOf)
    .option('--title <title>', 'title for your own use')
    .option('--tag <tag>', 'tag, in place of those that it has; may be repeated', each)
    .action(async (id: string, { text, date, settings, title, tag }: Options) => {
      const body = {
        ...(text !== undefined && { content: text === '-' ? await readText(session, '-') : text }),
        ...(date !== undefined && { publishDate: date }),
        ...(settings && { settings }),
        ...(title !== undefined && { title }),
        ...(tag && { tags: tag.map((value) => ({ value, label: value })) }),
      };
      if (Object.keys(body).length === 0) throw new UsageError('Say what to change, such as --text or --date');
      session.output.one(await (await session.client()).editPost(id, body), wholePost);
    });
}
