import { isIP } from 'node:net';

/** An address as a number. */
export interface IpAddress {
  family: 4 | 6;
  value: bigint;
}
/** A range of addresses, from its first to its last. */
export interface AddressRange {
  family: 4 | 6;
  first: bigint;
  last: bigint;
}

const v4 = (text: string): bigint => text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);

/** The eight groups of an IPv6 text that `isIP` has accepted; a dotted tail counts for two. */
function v6(text: string): bigint {
  const dotted = text.includes('.') ? text.slice(text.lastIndexOf(':') + 1) : undefined;
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, -dotted.length)}${(v4(dotted) >> 16n).toString(16)}:${(v4(dotted) & 0xffffn).toString(16)}`;
  const [head = '', tail] = plain.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const left = groups(head);
  const right = groups(tail ?? '');
  const all =
    tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** The address that a text is, brackets allowed; undefined for anything else, and for an IPv6 address with a zone. */
export function parseAddress(text: string): IpAddress | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const family = isIP(bare);
  if (family === 4) return { family, value: v4(bare) };
  if (family === 6 && !bare.includes('%')) return { family, value: v6(bare) };
  return undefined;
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. Throws for anything else, and for bits beyond the prefix. */
export function parseCidr(text: string): AddressRange {
  const [head = '', length, ...rest] = text.trim().split('/');
  const address = parseAddress(head);
  const bits = address?.family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (!address || rest.length > 0 || prefix < 0 || prefix > bits)
    throw new Error(`Not a range of addresses: ${JSON.stringify(text)}. Write it like 10.0.0.0/8`);
  const size = 1n << BigInt(bits - prefix);
  if (address.value % size !== 0n)
    throw new Error(`Not the start of a range: ${JSON.stringify(text)} has bits beyond its prefix`);
  return { family: address.family, first: address.value, last: address.value + size - 1n };
}

export const inRange = ({ family, value }: IpAddress, range: AddressRange): boolean =>
  family === range.family && value >= range.first && value <= range.last;

/** A range as `parseCidr` takes it, with its prefix. */
export function isCidr(text: string): boolean {
  try {
    parseCidr(text);
    return text.includes('/');
  } catch {
    return false;
  }
}
