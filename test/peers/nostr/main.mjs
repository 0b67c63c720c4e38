// A Nostr relay on 127.0.0.1 that keeps its events in memory. Prints its address; ends when its input does.
import common from '@nostr-relay/common';
import core from '@nostr-relay/core';
import validation from '@nostr-relay/validator';
import { WebSocketServer } from 'ws';

class Memory extends common.EventRepository {
  events = new Map();
  isSearchSupported() {
    return false;
  }
  upsert(event) {
    const isDuplicate = this.events.has(event.id);
    this.events.set(event.id, event);
    return { isDuplicate };
  }
  find(filter) {
    const fits = (event) =>
      (filter.ids?.includes(event.id) ?? true) &&
      (filter.authors?.includes(event.pubkey) ?? true) &&
      (filter.kinds?.includes(event.kind) ?? true) &&
      event.created_at >= (filter.since ?? 0) &&
      event.created_at <= (filter.until ?? Infinity);
    return [...this.events.values()].filter(fits).sort((a, b) => b.created_at - a.created_at).slice(0, filter.limit ?? 500);
  }
  /** NIP-09: of the events that are named, those of whoever asks. */
  async deleteByDeletionRequest({ pubkey, tags }) {
    const named = tags.flatMap(([name, id]) => (name === 'e' && this.events.get(id)?.pubkey === pubkey ? [id] : []));
    for (const id of named) this.events.delete(id);
  }
  async destroy() {}
}

const relay = new core.NostrRelay(new Memory());
const validator = new validation.Validator();
const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });

server.on('connection', (socket) => {
  relay.handleConnection(socket);
  socket.on('message', async (data) => {
    try {
      await relay.handleMessage(socket, await validator.validateIncomingMessage(data));
    } catch (error) {
      socket.send(JSON.stringify(['NOTICE', error.message]));
    }
  });
  socket.on('close', () => relay.handleDisconnect(socket));
  socket.on('error', () => relay.handleDisconnect(socket));
});
server.on('listening', () => process.stdout.write(`${JSON.stringify({ url: `ws://127.0.0.1:${server.address().port}` })}\n`));

process.stdin.resume();
process.stdin.on('end', () => process.exit());
