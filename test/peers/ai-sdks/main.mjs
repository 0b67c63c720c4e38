// SDKs of vendors of language models and media, which send what they are told to a recorder. Prints its address; ends
// when its input does.
//   POST / {recorder, vendor, act, login, input}  → {} | {failed}
import { createServer } from 'node:http';
import { leadTo } from '../social-sdks/splice.mjs';
import * as vendors from './vendors.mjs';

async function act({ recorder, vendor, act: name, login, input }) {
  leadTo(recorder);
  await (await vendors[vendor](login))[name](input);
  return {};
}

const control = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  const said = await act(JSON.parse(text)).catch((error) => ({ failed: error?.stack ?? String(error) }));
  response.end(JSON.stringify(said));
});
control.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
control.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${control.address().port}` })}\n`));

process.stdin.resume();
process.stdin.on('end', () => process.exit());
