// A process of its own that writes texts: `node test/support/processes/scripts/text-process.ts <settings as JSON>`. The content
// of a text may say that the process dies before the call of it, or once its answer is there; it says `done` when all
// are written.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testApp } from '../../worlds/app.ts';

interface Settings {
  databaseUrl: string;
  server: string;
  orgId: string;
  userId: string;
  contents: string[];
  together: number;
}
const { databaseUrl, server, orgId, userId, contents, together } = JSON.parse(process.argv[2]!) as Settings;
const { context } = await testApp({
  sql: openDatabase({ url: databaseUrl }),
  servers: { 'ai/openai': server },
  env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' },
});
const { providers, texts } = context;
const open = providers.ai;
providers.ai = (adapter, use) => {
  const ai = open(adapter, use);
  const dies = (request: object, when: string) => {
    if (JSON.stringify(request).includes(`die ${when}`)) process.kill(process.pid, 'SIGKILL');
  };
  return {
    ...ai,
    async text(request, signal) {
      dies(request, 'before');
      const answer = await ai.text(request, signal);
      dies(request, 'after');
      return answer;
    },
  };
};

let next = 0;
await Promise.all(
  Array.from({ length: together }, async () => {
    while (next < contents.length)
      await texts.write({ orgId, userId }, { action: 'rewrite', content: contents[next++]! });
  }),
);
process.stdout.write('done\n');
process.exit(0);
