import { refused } from '../kit/declare/fallback.ts';
import { type Fields, secret, text } from '../kit/declare/fields.ts';
import { webAddress } from '../kit/declare/setting-texts.ts';
import { readPrivateKey } from '../kit/protocols/nostr.ts';
import type { Published } from './_contract.ts';
import { keptOf } from './_nostr-notes.ts';

// The private key of an account, and the relays that it writes to.

const RELAYS = [
  'wss://nos.lol',
  'wss://relay.damus.io',
  'wss://relay.snort.social',
  'wss://temp.iris.to',
  'wss://vault.iris.to',
];
export const MAX_RELAYS = 10;
export const Relay = webAddress(4_096, /^wss?$/);

export const relaysOf = (typed: string): string[] => [...new Set(typed.split(/[\s,]+/).filter((one) => one !== ''))];

/** Describes the fault of a typed list of relays; undefined for a valid one. */
function relaysFault(typed: string): string | undefined {
  const relays = relaysOf(typed);
  if (relays.length === 0 || relays.some((one) => !Relay.safeParse(one).success))
    return 'must be wss:// addresses, with commas between them';
  return relays.length > MAX_RELAYS ? `must be ${MAX_RELAYS} addresses at most` : undefined;
}

export const credentials = {
  password: secret('Private key', {
    validation: '[0-9a-fA-F]{64}|nsec1[02-9ac-hj-np-z]{58}',
    help: '64 hexadecimal characters, or nsec1…',
  }),
  relays: text('Relays', {
    required: false,
    default: RELAYS.join(', '),
    fault: relaysFault,
    help: 'wss:// addresses, with commas between them; ten at most',
  }),
} as const satisfies Fields;

export function keyOf(typed: string): Uint8Array {
  const key = readPrivateKey(typed);
  if (!key) throw refused('reauthorize', 'This is not a Nostr private key: use 64 hexadecimal characters, or nsec1…');
  return key;
}

/** The relays that have a post, else those of the channel. */
export function relaysWith(published: Published, { relays }: { relays: string }): string[] {
  const having = keptOf(published)?.relays ?? [];
  return having.length > 0 ? having : relaysOf(relays);
}
/** The relays of the channel, and those where people see the post. */
export const relaysAround = (published: Published, values: { relays: string }): string[] =>
  [...new Set([...relaysOf(values.relays), ...relaysWith(published, values)])].slice(0, MAX_RELAYS);
