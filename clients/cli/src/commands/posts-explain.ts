import type { Command } from 'commander';
import { callTool } from '../call-tool.ts';
import type { Session } from '../session.ts';

interface Explanation {
  id: string;
  errorKind: string | null;
  summary: string;
  error: string | null;
  suggestion: string;
  safeToRetry: boolean;
}

export function addExplain(posts: Command, session: Session): void {
  posts
    .command('explain')
    .description('Say why a post was not published, what to do, and whether trying again is safe.')
    .argument('<post>', 'id of the post')
    .action(async (id: string) => {
      session.output.one(await callTool<Explanation>(await session.client(), 'explain_failure', { id }), [
        ['what', ({ summary }) => summary],
        ['network', ({ error }) => error],
        ['do', ({ suggestion }) => suggestion],
        ['retry is safe', ({ safeToRetry }) => (safeToRetry ? 'yes' : 'no')],
      ]);
    });
}
