// The control of a peer made of SDKs: does what it is told with them, so that they send it to a recorder. Prints its
// address; ends when its input does.
//   POST / {recorder, of, act, login, input}  → {} | {failed}
import { createServer } from 'node:http';
import { leadTo } from './splice.mjs';

/** `clients`: by name, what an SDK does for each act, once it is logged in. */
export function serveSdks(clients) {
  async function act({ recorder, of, act: name, login, input }) {
    leadTo(recorder);
    const acts = await clients[of](login);
    await acts[name](input);
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
}
