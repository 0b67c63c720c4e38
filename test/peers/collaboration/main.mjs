// Unmodified clients of y-websocket and Hocuspocus, and the server of y-websocket, told over HTTP what to do. Prints its
// address; ends when its input does.
import { createServer } from 'node:http';
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import { setContentInitializor, setupWSConnection } from '@y/websocket-server/utils';
import WebSocket, { WebSocketServer } from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';

const clients = new Map();
const content = (doc) => doc.getXmlFragment('content');
const paragraphOf = (text) => {
  const paragraph = new Y.XmlElement('paragraph');
  paragraph.insert(0, [new Y.XmlText(text)]);
  return paragraph;
};

/** Notes the type and the step of each frame that comes. */
const noting = (frames) =>
  class extends WebSocket {
    constructor(...given) {
      super(...given);
      this.on('message', (data) => {
        const [type, step] = new Uint8Array(data);
        frames.push(type === 0 ? `sync ${step}` : `type ${type}`);
      });
    }
  };

const acts = {
  /** A client of its own; `params` go behind the address, as the library puts them there. */
  open({ id, url, room, params = {}, client }) {
    const doc = new Y.Doc();
    if (client !== undefined) doc.clientID = client; // who inserts at the same place first is by this number
    const seen = { denied: [], closed: [], frames: [] };
    const WebSocketPolyfill = noting(seen.frames);
    const provider = new WebsocketProvider(url, room, doc, { params, WebSocketPolyfill, disableBc: true });
    const { warn } = console;
    console.warn = (text, ...more) => (String(text).startsWith('Permission denied') ? seen.denied.push(String(text)) : warn(text, ...more));
    provider.on('connection-close', (event) => seen.closed.push(event?.code));
    clients.set(id, { doc, provider, seen });
  },
  /** A client of the other dialect, which says the name of the document first; answers what it was closed with. */
  openHocuspocus: ({ url, room, token }) =>
    new Promise((closed) => {
      const websocketProvider = new HocuspocusProviderWebsocket({ url, WebSocketPolyfill: WebSocket });
      const provider = new HocuspocusProvider({ websocketProvider, name: room, document: new Y.Doc(), token });
      content(provider.document).push([paragraphOf('by Hocuspocus')]);
      websocketProvider.on('close', ({ event }) => {
        provider.destroy();
        websocketProvider.destroy();
        closed(event.code);
      });
      provider.attach();
    }),
  /** The server of y-websocket; its documents begin with a paragraph and settings. Answers its address. */
  serve: ({ text, settings }) =>
    new Promise((listening) => {
      setContentInitializor(async (doc) => {
        content(doc).insert(0, [paragraphOf(text)]);
        for (const [key, value] of Object.entries(settings)) doc.getMap('settings').set(key, value);
      });
      const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => listening(`ws://127.0.0.1:${sockets.address().port}`));
      sockets.on('connection', setupWSConnection);
    }),
  write({ id, text }) {
    content(clients.get(id).doc).push([paragraphOf(text)]);
  },
  remove({ id, node }) {
    content(clients.get(id).doc).delete(node, 1);
  },
  set({ id, key, value }) {
    clients.get(id).doc.getMap('settings').set(key, value);
  },
  push({ id, value }) {
    clients.get(id).doc.getArray('media').push([value]);
  },
  insert({ id, node, at, text }) {
    content(clients.get(id).doc).get(node).get(0).insert(at, text);
  },
  say({ id, state }) {
    clients.get(id).provider.awareness.setLocalState(state);
  },
  disconnect: ({ id }) => clients.get(id).provider.disconnect(),
  /** Takes a ticket for when it has to connect again. */
  renew({ id, params }) {
    clients.get(id).provider.params = params;
  },
  reconnect({ id, params }) {
    acts.renew({ id, params });
    acts.disconnect({ id });
    acts.connect({ id });
  },
  connect: ({ id }) => clients.get(id).provider.connect(),
  /** Many acts at once. */
  all: ({ calls }) => Promise.all(calls.map(({ act, ...given }) => acts[act](given))),
  /** What several clients hold: each document that they have, and the names that each of them shows. */
  gather({ ids }) {
    const some = ids.map((id) => clients.get(id));
    return {
      xmls: [...new Set(some.map(({ doc }) => content(doc).toString()))],
      areSynced: some.every(({ provider }) => provider.synced),
      names: some.map(({ provider }) => [...provider.awareness.getStates().values()].flatMap(({ user }) => user?.name ?? [])),
      closed: [...new Set(some.flatMap(({ seen }) => seen.closed))],
    };
  },
  destroy({ id }) {
    clients.get(id)?.provider.destroy();
    clients.delete(id);
  },
  look({ id }) {
    const { doc, provider, seen } = clients.get(id);
    return {
      xml: content(doc).toString(),
      settings: doc.getMap('settings').toJSON(),
      media: doc.getArray('media').toJSON(),
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
  request.on('end', async () => {
    const { act, ...given } = JSON.parse(body);
    try {
      response.end(JSON.stringify({ done: (await acts[act](given)) ?? null }));
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
