import type { Command } from 'commander';
import { RookeryError, type Refusal } from '../../../typescript/src/index.ts';
import type { Session } from '../session.ts';

interface Explanation {
  id: string;
  errorKind: string | null;
  summary: string;
  error: string | null;
  suggestion: string;
  safeToRetry: boolean;
}
interface Called {
  result?: { isError?: boolean; structuredContent: unknown };
  error?: { message: string; data?: Partial<Refusal> };
}

/** The explanation is a tool of the service for agents; it has no route of its own. */
export function addExplain(posts: Command, session: Session): void {
  posts
    .command('explain')
    .description('Say why a post was not published, what to do, and whether trying again is safe.')
    .argument('<post>', 'id of the post')
    .action(async (id: string) => {
      const rookery = await session.client();
      const params = { name: 'explain_failure', arguments: { id } };
      const answer = await rookery.request('/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      const { result, error } = (await answer.json()) as Called;
      if (error) throw new RookeryError(400, { message: error.message, ...error.data });
      const found = result!.structuredContent;
      if (result!.isError) {
        const refusal = found as Partial<Refusal>;
        throw new RookeryError(refusal.statusCode ?? 400, refusal);
      }
      session.output.one(found as Explanation, [
        ['what', ({ summary }) => summary],
        ['network', (explained) => explained.error],
        ['do', ({ suggestion }) => suggestion],
        ['retry is safe', ({ safeToRetry }) => (safeToRetry ? 'yes' : 'no')],
      ]);
    });
}
