import type { Command } from 'commander';
import { callTool } from '../call-tool.ts';
import { dateOf, each, objectOf, readText } from '../input.ts';
import { imagesOf, type PostOptions, requireContent, typeOf } from '../post-body.ts';
import type { Session } from '../session.ts';

interface Proposal {
  id: string;
  status: string;
  expiresAt: string;
  reason: string | null;
  postIds: string[] | null;
}

export function addProposals(program: Command, session: Session): void {
  const proposals = program.command('proposals').description('Posts that a person accepts or rejects in the console.');
  proposals
    .command('create')
    .description('Propose a post; nothing is created before a person accepts it.')
    .option('--channel <id>', 'channel; may be repeated', each)
    .option('--text <text>', 'text or HTML; - reads it from the standard input')
    .option('--thread <text>', 'item that follows; may be repeated', each)
    .option('--media <file>', 'file, which is uploaded, or address of one; may be repeated', each)
    .option('--date <date>', 'when it goes out; when it is accepted unless given', dateOf)
    .option('--draft', 'it becomes a draft')
    .option('--settings <json>', 'settings of the network', objectOf)
    .action(async (options: PostOptions) => {
      const { channel, text = '' } = requireContent(options);
      const rookery = await session.client();
      const content = text === '-' ? await readText(session, '-') : text;
      const images = await imagesOf(session, rookery, options);
      const first = { content, attachments: images.map(({ path }) => path) };
      const { date, thread = [], settings = {} } = options;
      const socialPost = channel.map((integrationId) => ({
        integrationId,
        type: typeOf(options),
        ...(date !== undefined && { date }),
        postsAndComments: [first, ...thread.map((item) => ({ content: item }))],
        settings: Object.entries(settings).map(([key, value]) => ({ key, value: valueOf(value) })),
      }));
      session.output.one(await callTool<{ proposalId: string }>(rookery, 'propose_post', { socialPost }), [
        ['proposal', ({ proposalId }) => proposalId],
      ]);
    });
  proposals
    .command('get')
    .description('Show what became of a proposal.')
    .argument('<proposal>', 'id of the proposal')
    .action(async (id: string) => {
      session.output.one(await callTool<Proposal>(await session.client(), 'get_proposal', { id }), [
        ['id', (one) => one.id],
        ['status', ({ status }) => status],
        ['expires', ({ expiresAt }) => expiresAt],
        ['reason', ({ reason }) => reason],
        ['posts', ({ postIds }) => postIds?.join(' ')],
      ]);
    });
}

/** Tools take values of settings as text, number or boolean; others as JSON. */
const valueOf = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : value);
