import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { parseAddress } from '../../../src/platform/kernel/index.ts';

/**
 * What a name answers: addresses of either family and at most one other name; an error of DNS by its number; or nothing
 * at all.
 */
export type Zone = Record<string, readonly string[] | { error: number } | 'silence' | (() => readonly string[])>;

const [A, CNAME, AAAA] = [1, 5, 28];
const nameBytes = (name: string) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])),
    Buffer.of(0),
  ]);
const record = (name: string, type: number, data: Buffer) => {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2); // of the internet; it may be kept for no time at all
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), head, data]);
};
const addressBytes = (text: string) =>
  Buffer.from(
    parseAddress(text)!
      .value.toString(16)
      .padStart(isIPv4(text) ? 8 : 32, '0'),
    'hex',
  );

/** A name server on this machine (RFC 1035, by UDP), which notes what it was asked: the name and the type. */
export async function startDnsServer(zone: Zone) {
  const asked: string[] = [];
  const socket = createSocket('udp4');

  /** The answers of a name, and of those that it leads to. */
  function answers(name: string, type: number, depth = 0): Buffer[] {
    const found = zone[name];
    const known = typeof found === 'function' ? found() : found;
    if (!Array.isArray(known) || depth > 5) return [];
    const listed = known as readonly string[];
    const addresses = listed.filter((one) => parseAddress(one) && isIPv4(one) === (type === A));
    const [next] = listed.filter((one) => !parseAddress(one));
    return [
      ...addresses.map((one) => record(name, type, addressBytes(one))),
      ...(next === undefined ? [] : [record(name, CNAME, nameBytes(next)), ...answers(next, type, depth + 1)]),
    ];
  }

  socket.on('message', (query, { port, address }) => {
    let end = 12;
    const labels: string[] = [];
    while (query[end] !== 0) {
      labels.push(query.subarray(end + 1, end + 1 + query[end]!).toString('latin1'));
      end += query[end]! + 1;
    }
    const name = labels.join('.').toLowerCase();
    const type = query.readUInt16BE(end + 1);
    asked.push(`${name} ${type === A ? 'A' : type === AAAA ? 'AAAA' : type}`);
    const known = zone[name];
    if (known === 'silence') return;
    const said = answers(name, type);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2); // an answer, of a server that asks others
    if (known === undefined) head[3]! |= 3; // there is no such name
    else if (typeof known === 'object' && 'error' in known) head[3]! |= known.error;
    head.writeUInt16BE(said.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...said]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}
