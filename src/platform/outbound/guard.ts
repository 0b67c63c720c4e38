import { type IpAddress, inRange, parseAddress, parseCidr, type AddressRange } from '../kernel/index.ts';
import { OutboundError } from './contract.ts';

// IANA's special-purpose registries, whole: none of these is an ordinary public service. The last one is a public
// address that a large cloud answers with instance secrets from inside.
const REFUSED_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
].map(parseCidr);

// Outside 2000::/3 nothing is public: unspecified, loopback, mapped, compatible, translated, both NAT64 prefixes,
// discard, segment routing, unique local, link-local, site-local, multicast. Inside it, these are special.
const GLOBAL_6 = parseCidr('2000::/3');
const REFUSED_6 = [
  '2001::/23', // protocol assignments: Teredo, benchmark, ORCHID, …
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: carries any IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(parseCidr);

/** An interface identifier `(0|2)00:5efe:<IPv4>` is ISATAP: a tunnel to that IPv4 address, under any prefix. */
const isIsatap = (value: bigint) => [0x00005efen, 0x02005efen].includes((value >> 32n) & 0xffffffffn);

/** `opened`: special, but in a range that the operator opened. */
export type AddressVerdict = 'public' | 'opened' | 'refused';
export interface Guard {
  judgeAddress(text: string): AddressVerdict;
  /**
   * The addresses of one name that may be connected to; throws `Blocked URL` when there is none, or when they are
   * mixed.
   */
  choose(addresses: readonly string[], protocol: string): string[];
  /** Form, scheme, userinfo, and the address when the host is one; throws `invalid` or `blocked`. */
  judgeUrl(text: string, schemes?: readonly [secure: string, plain: string]): URL;
}

export const blocked = () => new OutboundError('blocked', 'Blocked URL');
const LOOPBACK_NAME = /(^|\.)localhost\.?$/;

/** Judges addresses and URLs; opens exactly the given ranges. Throws for a range that is none. */
export function openGuard(allowedPrivateCidrs: readonly string[]): Guard {
  const opened = allowedPrivateCidrs.map(parseCidr);
  const within = (address: IpAddress, ranges: readonly AddressRange[]) =>
    ranges.some((range) => inRange(address, range));

  function judgeAddress(text: string): AddressVerdict {
    const address = parseAddress(text);
    if (!address) return 'refused';
    if (within(address, opened)) return 'opened';
    if (address.family === 4) return within(address, REFUSED_4) ? 'refused' : 'public';
    return inRange(address, GLOBAL_6) && !within(address, REFUSED_6) && !isIsatap(address.value) ? 'public' : 'refused';
  }

  return {
    judgeAddress,

    choose(addresses, protocol) {
      const judged = addresses.map((address) => ({ address, verdict: judgeAddress(address) }));
      const anyOf = (verdict: AddressVerdict) => judged.some((one) => one.verdict === verdict);
      // A name with public and refused addresses is how rebinding looks. One that is only opened and refused is a name
      // of this machine with an address of the other family: the opened ones are what the operator meant.
      if (anyOf('public') && anyOf('refused')) throw blocked();
      const plain = protocol === 'http:' || protocol === 'ws:';
      const usable = judged.filter(({ verdict }) => verdict === 'opened' || (verdict === 'public' && !plain));
      if (usable.length === 0 || (plain && usable.length < judged.length && anyOf('public'))) throw blocked();
      return usable.map(({ address }) => address);
    },

    judgeUrl(text, [secure, plain] = ['https:', 'http:']) {
      const url = URL.parse(text);
      if (!url) throw new OutboundError('invalid', 'This is not a URL');
      if (url.protocol !== secure && url.protocol !== plain) throw blocked();
      if (url.username !== '' || url.password !== '') throw blocked();
      if (url.protocol === plain && opened.length === 0) throw blocked();
      const host = url.hostname;
      const literal = parseAddress(host);
      if (literal || host.startsWith('[')) {
        const verdict = judgeAddress(host);
        if (verdict === 'refused' || (verdict === 'public' && url.protocol === plain)) throw blocked();
      } else if (
        LOOPBACK_NAME.test(host) &&
        !['127.0.0.1', '::1'].some((loopback) => judgeAddress(loopback) === 'opened')
      )
        throw blocked();
      return url;
    },
  };
}

/** Names that public DNS does not answer: of this machine, of the local network, and of no service at all. */
const LOCAL_NAME = /^[^.]+\.?$|(^|\.)(localhost|local|internal|home\.arpa|lan|test|invalid|onion)\.?$/;
const STRICT = openGuard([]);

/**
 * Whether the services of others can call this address, by its form: https, at a public address or a name that public
 * DNS can answer. It is not resolved.
 */
export function isReachableFromOutside(url: string): boolean {
  try {
    const { hostname } = STRICT.judgeUrl(url);
    return hostname.startsWith('[') || !LOCAL_NAME.test(hostname);
  } catch {
    return false; // the guard's refusal
  }
}
