import { type Command, createArgument } from 'commander';
import { UsageError } from '../exit.ts';
import type { Session } from '../session.ts';

/** By client: the file that it reads, and what goes into it. No key: each client logs in by itself. */
const CLIENTS: Readonly<Record<string, { file: string; of: (url: string) => object }>> = {
  'claude-code': { file: '.mcp.json', of: (url) => ({ mcpServers: { rookery: { type: 'http', url } } }) },
  'claude-desktop': {
    file: 'claude_desktop_config.json',
    of: (url) => ({ mcpServers: { rookery: { command: 'npx', args: ['-y', 'mcp-remote', url] } } }),
  },
  cursor: { file: '.cursor/mcp.json', of: (url) => ({ mcpServers: { rookery: { url } } }) },
  vscode: { file: '.vscode/mcp.json', of: (url) => ({ servers: { rookery: { type: 'http', url } } }) },
};

export function addMcpConfig(program: Command, session: Session): void {
  const mcp = program.command('mcp').description('Connect assistants.');
  mcp
    .command('config')
    .description('Print what an assistant needs to connect. It holds no key: the assistant logs in by itself.')
    .addArgument(createArgument('<client>', 'which assistant').choices(Object.keys(CLIENTS)))
    .option('--media', 'the tools for media instead of those for posts')
    .action(async (client: string, { media }: { media?: boolean }) => {
      const given = await session.findUrl();
      if (given === undefined) throw new UsageError('Say which service by --url, ROOKERY_URL, or log in');
      const { url } = session.clientOf(given);
      const { file, of } = CLIENTS[client]!;
      session.output.say(`Put this into ${file}:`);
      session.output.raw(JSON.stringify(of(`${url}${media ? '/media-mcp' : '/mcp'}`), undefined, 2));
    });
}
