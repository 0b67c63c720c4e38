// aimock on 127.0.0.1, which answers what was planned and nothing else. Prints its address; ends when its input does.
//   POST /__aimock/reset, POST /__aimock/fixtures {fixtures}, GET /__aimock/journal
import { LLMock } from '@copilotkit/aimock';

const mock = new LLMock({ port: 0, host: '127.0.0.1', strict: true, logLevel: 'silent' });
const url = await mock.start();
process.stdout.write(`${JSON.stringify({ url })}\n`);

process.stdin.resume();
process.stdin.on('end', () => process.exit());
