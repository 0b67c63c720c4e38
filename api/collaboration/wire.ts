// Messages as they go over the wire (RFC 6455, 5.2): one frame, not masked, as a server sends it. What many are told is
// encoded once, and each socket writes the same bytes; `ws` would encode it for each of them, and write it in two pieces.

/** The first byte of a frame: it is whole, and binary or a ping. */
const BINARY = 0x82;
const PING = 0x89;
/** Stand in the place of a length that needs two bytes, or eight. */
const IN_TWO = 126;
const IN_EIGHT = 127;

/** What is ready to be written. */
export interface Encoded {
  readonly bytes: Buffer;
}

function headOf(length: number): Buffer {
  if (length < IN_TWO) return Buffer.from([BINARY, length]);
  const head = Buffer.alloc(length < 2 ** 16 ? 4 : 10);
  head.set([BINARY, length < 2 ** 16 ? IN_TWO : IN_EIGHT]);
  if (length < 2 ** 16) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** Several messages are written in one piece, too. */
export const encode = (...messages: Uint8Array[]): Encoded => ({
  bytes: Buffer.concat(messages.flatMap((message) => [headOf(message.length), message])),
});

/** The same with a question behind it whether the other side is there. */
export const withPing = ({ bytes }: Encoded): Encoded => ({ bytes: Buffer.concat([bytes, Buffer.from([PING, 0])]) });
