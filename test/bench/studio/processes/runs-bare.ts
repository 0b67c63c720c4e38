// The peer of the benchmark `runs`: a loop for each run that makes the same calls one after another, and does nothing
// else.
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { answering } from '../../kit/answering.ts';

const { upstream } = JSON.parse(process.argv[2]!) as { upstream: string };
const agent = new Agent({ keepAlive: true });
const AGENTS = ['You plan posts', 'You write posts', 'You review drafts'];
/** About as long as what the agents are told. */
const REST = ' for social media.'.repeat(80);

function ask(instruction: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const messages = [
    { role: 'system', content: instruction + REST },
    { role: 'user', content: JSON.stringify({ topic: 'We launch on Monday', count: 1 }) },
  ];
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' };
  const asked = request(`${upstream}/chat/completions`, { method: 'POST', agent, headers }, (response) => {
    text(response).then((said) => {
      const { choices } = JSON.parse(said) as { choices: [{ message: { content: string } }] };
      resolve(JSON.parse(choices[0].message.content));
    }, reject);
  });
  asked.on('error', reject);
  asked.end(JSON.stringify({ model: 'gpt-5.4-mini', messages }));
  return promise;
}

answering({
  async run({ runs }: { runs: number }) {
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: runs }, async () => {
        for (const instruction of AGENTS) await ask(instruction);
      }),
    );
    return { ms: performance.now() - begun, done: runs };
  },
});
