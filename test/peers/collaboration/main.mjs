// Unmodified clients of y-websocket, told over HTTP what to do. Prints its address; ends when its input does.
import { createServer } from 'node:http';
import WebSocket from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';

const clients = new Map();
const content = (doc) => doc.getXmlFragment('content');

const acts = {
  /** A client of its own; `params` go behind the address, as the library puts them there. */
  open({ id, url, room, params = {} }) {
    const doc = new Y.Doc();
    const provider = new WebsocketProvider(url, room, doc, { params, WebSocketPolyfill: WebSocket, disableBc: true });
    const seen = { denied: [], closed: [] };
    const { warn } = console;
    console.warn = (text, ...more) => (String(text).startsWith('Permission denied') ? seen.denied.push(String(text)) : warn(text, ...more));
    provider.on('connection-close', (event) => seen.closed.push(event?.code));
    clients.set(id, { doc, provider, seen });
  },
  write({ id, text }) {
    const paragraph = new Y.XmlElement('paragraph');
    paragraph.insert(0, [new Y.XmlText(text)]);
    content(clients.get(id).doc).push([paragraph]);
  },
  insert({ id, node, at, text }) {
    content(clients.get(id).doc).get(node).get(0).insert(at, text);
  },
  say({ id, state }) {
    clients.get(id).provider.awareness.setLocalState(state);
  },
  disconnect: ({ id }) => clients.get(id).provider.disconnect(),
  connect: ({ id }) => clients.get(id).provider.connect(),
  destroy({ id }) {
    clients.get(id).provider.destroy();
    clients.delete(id);
  },
  look({ id }) {
    const { doc, provider, seen } = clients.get(id);
    return {
      xml: content(doc).toString(),
      isSynced: provider.synced,
      isConnected: provider.wsconnected,
      states: [...provider.awareness.getStates().values()],
      ...seen,
    };
  },
};

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (data) => (body += data));
  request.on('end', () => {
    const { act, ...given } = JSON.parse(body);
    try {
      response.end(JSON.stringify({ done: acts[act](given) ?? null }));
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
