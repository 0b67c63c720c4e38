/**
 * The keys of a WireGuard file that describe the tunnel, by section. Commands (`PostUp` and others) are not among them.
 */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  interface: ['privatekey', 'address', 'dns', 'mtu', 'listenport'],
  peer: ['publickey', 'presharedkey', 'endpoint', 'allowedips', 'persistentkeepalive'],
};
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  interface: ['privatekey', 'address'],
  peer: ['publickey', 'endpoint', 'allowedips'],
};

const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const isV4 = (text: string) => V4.test(text);
const isV6 = (text: string) => text.includes(':') && URL.canParse(`http://[${text}]/`);
const isName = (text: string) =>
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text);
const isPort = (text: string) => /^[1-9]\d{0,4}$/.test(text) && Number(text) < 65_536;
const isNumber = (text: string) => /^\d{1,5}$/.test(text) && Number(text) < 65_536;

/** Answers whether the text is a WireGuard key: 32 bytes in base64. */
function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) && btoa(atob(text)) === text;
}
function isRange(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const most = isV4(address) ? 32 : isV6(address) ? 128 : -1;
  return (
    most > 0 && more.length === 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= most))
  );
}
function isEndpoint(text: string): boolean {
  const [, six, host = '', port = ''] = /^(?:\[(.+)\]|([^:[\]]+)):(\d+)$/.exec(text) ?? [];
  return isPort(port) && (six === undefined ? isV4(host) || isName(host) : isV6(six));
}
const each = (text: string, good: (one: string) => boolean) => text.split(',').every((one) => good(one.trim()));

const CHECKS: Readonly<Record<string, [good: (text: string) => boolean, what: string]>> = {
  privatekey: [isKey, '32 bytes in base64'],
  publickey: [isKey, '32 bytes in base64'],
  presharedkey: [isKey, '32 bytes in base64'],
  address: [(text) => each(text, isRange), 'addresses, like 10.2.0.2/32'],
  allowedips: [(text) => each(text, isRange), 'ranges of addresses, like 0.0.0.0/0'],
  dns: [(text) => each(text, (one) => isV4(one) || isV6(one) || isName(one)), 'addresses or names'],
  endpoint: [isEndpoint, 'a host and a port, like vpn.example:51820'],
  mtu: [isNumber, 'a number'],
  listenport: [isNumber, 'a port'],
  persistentkeepalive: [(text) => text === 'off' || isNumber(text), 'a number of seconds'],
};

/**
 * Describes the first fault of a WireGuard file as `wg-quick` reads it, without any of its values; undefined for a
 * valid file.
 */
export function wireguardFault(file: string): string | undefined {
  const sections: { name: string; keys: Set<string> }[] = [];
  for (const [index, raw] of file.split(/\r?\n/).entries()) {
    const line = raw.replace(/#.*/, '').trim();
    if (line === '') continue;
    const at = `line ${index + 1}`;
    const name = /^\[(\w+)\]$/.exec(line)?.[1]?.toLowerCase();
    if (name !== undefined) {
      if (!Object.hasOwn(KEYS, name)) return `${at}: a section is [Interface] or [Peer]`;
      sections.push({ name, keys: new Set() });
      continue;
    }
    const section = sections.at(-1);
    const split = line.indexOf('=');
    const key = line.slice(0, split).trim().toLowerCase();
    if (!section || split < 1) return `${at}: is no setting of a section`;
    if (!KEYS[section.name]!.includes(key))
      return `${at}: only ${KEYS[section.name]!.join(', ')} may stand in [${section.name}]`;
    const [good, what] = CHECKS[key]!;
    if (!good(line.slice(split + 1).trim())) return `${at}: ${key} must be ${what}`;
    section.keys.add(key);
  }
  if (sections.filter(({ name }) => name === 'interface').length !== 1) return 'needs one [Interface]';
  if (!sections.some(({ name }) => name === 'peer')) return 'needs a [Peer]';
  for (const { name, keys } of sections)
    for (const needed of NEEDED[name]!) if (!keys.has(needed)) return `[${name}] needs ${needed}`;
  return undefined;
}
