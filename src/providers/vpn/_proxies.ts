import { secret, text } from '../kit/declare/fields.ts';
import type { Proxy } from '../kit/declare/proxy.ts';
import type { Place } from './_contract.ts';

/** SOCKS5 proxies at fixed hosts: by location, the name for people and the host. */
export type Hosts = Readonly<Record<string, readonly [name: string, host: string]>>;
const PORT = 1_080;

const LOGIN = {
  required: false,
  validation: '.{1,255}',
  help: 'Made in the account of the provider; not the login of its site',
} as const;
export const user = (label: string) => secret(label, LOGIN);

/** Makes the field `location`. */
export const location = (hosts: Hosts) =>
  text('Location', {
    required: false,
    default: Object.keys(hosts)[0]!,
    options: Object.entries(hosts).map(([value, [label]]) => ({ value, label })),
  });

export const placesOf = (hosts: Hosts) => async (): Promise<readonly Place[]> =>
  Object.entries(hosts).map(([id, [name, host]]) => ({ id, name, country: countryOf(id, host) }));
const countryOf = (id: string, host: string) =>
  /^(?:.*\.)?([a-z]{2})\.socks\./.exec(host)?.[1]?.toUpperCase() ?? (/^[a-z]{2}$/.test(id) ? id.toUpperCase() : null);

/**
 * Answers the proxy of a location with this login; undefined without a login, and for a location that is no longer
 * offered.
 */
export function at(
  hosts: Hosts,
  place: string,
  username: string | undefined,
  password: string | undefined,
): Proxy | undefined {
  const host = hosts[place]?.[1];
  return host === undefined || username === undefined || password === undefined
    ? undefined
    : { protocol: 'socks5', host, port: PORT, username, password };
}
