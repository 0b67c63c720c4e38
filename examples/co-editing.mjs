// Two clients write one post together, as two people do: node examples/co-editing.mjs <address> <API key> <post id>
//
// The websocket speaks the protocol of y-websocket; a page of the web takes that library (docs/co-editing.md). Here its
// frames are written by hand, so that nothing is needed but `ws` and `yjs`.
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import * as Y from 'yjs';

const [address, key, postId] = process.argv.slice(2);
if (!address || !key || !postId) {
  console.error('usage: node examples/co-editing.mjs <address> <API key> <post id>');
  process.exit(2);
}
const url = address.replace(/\/$/, '');
const headers = { authorization: key };
const WAIT_MS = 15_000;

/** The first number of a frame, and the second of one of SYNC. */
const SYNC = 0;
const [STEP1, STEP2, UPDATE] = [0, 1, 2];

/** A number of variable length: seven bits a byte, the lowest first. */
function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Uint8Array.from([...bytes, number]);
}
const syncFrame = (step, bytes) => Buffer.concat([varint(SYNC), varint(step), varint(bytes.length), bytes]);

/** Reads the numbers at the beginning of a frame, and the bytes behind them. */
function parseFrame(frame) {
  let at = 0;
  const number = () => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = frame[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  const type = number();
  if (type !== SYNC) return { type };
  const step = number();
  const length = number();
  return { type, step, bytes: new Uint8Array(frame.subarray(at, at + length)) };
}

/** Opens the post; `doc` is kept the same as everybody else's until it is closed. */
async function join() {
  const doc = new Y.Doc();
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/collaboration/post:${postId}`, { headers });
  const closed = new Promise((_, reject) => {
    socket.on('error', reject);
    socket.on('close', (code, reason) => reject(new Error(`The connection was closed: ${code} ${reason.toString()}`)));
  });
  closed.catch(() => undefined); // it is closed at the end, too
  const loaded = new Promise((resolve) => {
    socket.on('message', (frame) => {
      const { type, step, bytes } = parseFrame(frame);
      if (type !== SYNC) return; // what others say of themselves
      if (step === STEP1) socket.send(syncFrame(STEP2, Y.encodeStateAsUpdate(doc, bytes))); // what the server lacks
      else Y.applyUpdate(doc, bytes, socket);
      if (step === STEP2) resolve();
    });
  });
  socket.on('open', () => socket.send(syncFrame(STEP1, Y.encodeStateVector(doc)))); // asks for the document
  doc.on('update', (update, origin) => {
    if (origin !== socket) socket.send(syncFrame(UPDATE, update));
  });
  await Promise.race([loaded, closed]);
  return { doc, socket, content: doc.getXmlFragment('content') };
}

/** Writes a paragraph at the end. */
function write({ content }, text) {
  const paragraph = new Y.XmlElement('paragraph');
  paragraph.insert(0, [new Y.XmlText(text)]);
  content.push([paragraph]);
}

async function until(what, isSo) {
  for (const end = Date.now() + WAIT_MS; ; await sleep(100)) {
    const found = await isSo();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${WAIT_MS / 1_000} s`);
  }
}

const [ann, bob] = await Promise.all([join(), join()]);
const words = [`Ann was here at ${new Date().toISOString()}`, `and Bob, too, as ${bob.doc.clientID}`];
write(ann, words[0]);
write(bob, words[1]); // at the same time: nobody waits for anybody
const text = ({ content }) => content.toString();
await until(
  'Both have both paragraphs',
  () => text(ann) === text(bob) && words.every((one) => text(ann).includes(one)),
);
console.log(`one document:  ${text(ann)}`);

// the post is saved two seconds after the last change
const saved = await until('The post has both paragraphs', async () => {
  const answer = await fetch(`${url}/public/v1/posts/${postId}`, { headers });
  if (!answer.ok) throw new Error(`GET /public/v1/posts/${postId}: ${answer.status} ${await answer.text()}`);
  const { content } = await answer.json();
  return words.every((one) => content.includes(one)) && content;
});
console.log(`saved to post: ${saved}`);
for (const { socket } of [ann, bob]) socket.close();
