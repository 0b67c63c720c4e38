import { describe, expect, test } from '@jest/globals';
import { parseAddress, parseCidr } from '../kernel/index.ts';
import { blocked, isReachableFromOutside, openGuard } from './guard.ts';

const guard = openGuard([]);

describe('address rules', () => {
  test.each([
    '0.0.0.0',
    '0.255.255.255',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.255',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.168.1.1',
    '192.175.48.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::7f00:1',
    '::8.8.8.8',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:1ff:ffff::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2620:4f:8000::1',
    '3fff::1',
    '3fff:fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    '2a00:1450:4001:800::5efe:a00:1',
    '2a00::200:5efe:7f00:1',
    '',
    'localhost',
    '1',
    '127.1',
    '0x7f000001',
    '256.1.1.1',
  ])('%s is refused', (address) => expect(guard.judgeAddress(address)).toBe('refused'));

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::1',
    '2001:200::1',
    '2001:db7:ffff::1',
    '2001:db9::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2606:4700:4700::1111',
    '2a00:1450:4001:800::200e',
    '3ffe::1',
    '3fff:1000::1',
  ])('%s is public', (address) => expect(guard.judgeAddress(address)).toBe('public'));

  test('an allowed range opens neither its neighbours nor other forms of its addresses [OB9]', () => {
    const opened = openGuard(['10.1.2.0/24', 'fd12::/64', '127.0.0.1']);
    expect(['10.1.2.0', '10.1.2.255', 'fd12::ffff', '127.0.0.1'].map(opened.judgeAddress)).toEqual(
      Array(4).fill('opened'),
    );
    expect(
      [
        '10.1.1.255',
        '10.1.3.0',
        'fd12:0:0:1::',
        'fd11:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
        '127.0.0.2',
        '127.0.0.0',
        '::ffff:10.1.2.1',
        '64:ff9b::10.1.2.1',
        '::1',
      ].map(opened.judgeAddress),
    ).toEqual(Array(9).fill('refused'));
  });
});

describe('addresses of one name', () => {
  const opened = openGuard(['127.0.0.1/32']);
  test('all addresses are used when all are public', () =>
    expect(guard.choose(['1.1.1.1', '2606:4700::1'], 'https:')).toEqual(['1.1.1.1', '2606:4700::1']));
  test.each([[['1.1.1.1', '10.0.0.1']], [['1.1.1.1', '::1']], [['10.0.0.1']], [[]]])(
    '%j is refused as a whole',
    (addresses) => expect(() => guard.choose(addresses, 'https:')).toThrow('Blocked URL'),
  );
  test('allowed addresses are used beside a refused one', () =>
    expect(opened.choose(['::1', '127.0.0.1'], 'http:')).toEqual(['127.0.0.1']));
  test('plain http goes to allowed addresses only', () => {
    expect(() => opened.choose(['1.1.1.1'], 'http:')).toThrow('Blocked URL');
    expect(() => opened.choose(['1.1.1.1', '127.0.0.1'], 'http:')).toThrow('Blocked URL');
  });
});

describe('URL rules', () => {
  test.each([
    '',
    'x',
    '//example.com',
    '/hook',
    'https://',
    'https://[::1',
    'https://256.256.256.256',
    'https://1.2.3.4.5/',
    'https://[fe80::1%25eth0]/',
  ])('%j is no URL', (url) => expect(() => guard.judgeUrl(url)).toThrow('This is not a URL'));
  test.each([
    'http://example.com',
    'ftp://example.com',
    'file:///etc/passwd',
    'gopher://example.com',
    'data:text/plain,x',
    'javascript:alert(1)',
    'ws://example.com',
    'https://user@example.com',
    'https://user:pass@example.com',
    'https://:p@example.com',
    'https://localhost',
    'https://LOCALHOST.',
    'https://a.localhost',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://017700000001',
    'https://127.1',
    'https://①②⑦.0.0.1',
    'https://127。0。0。1',
    'https://%31%32%37.0.0.1',
    'https:\\\\127.0.0.1\\',
    'https:/127.0.0.1',
    'https:127.0.0.1',
    'https:////127.0.0.1',
    'https://127.0.0.1.',
    'https://\t127.0.0.1',
    'https://example.com@127.0.0.1',
    'https://[::1]',
    'https://[::ffff:7f00:1]',
    'https://[0:0:0:0:0:0:0:1]',
  ])('%j is blocked', (url) => {
    let code;
    try {
      guard.judgeUrl(url);
    } catch (error) {
      ({ code } = error as { code?: string });
    }
    expect(['blocked_url', 'validation_failed']).toContain(code);
  });
  test.each([
    'https://example.com',
    'https://example.com:8443/a?b=c#d',
    'https://8.8.8.8/',
    'https://[2606:4700::1]/',
    'https://münchen.example/',
  ])('%j is allowed', (url) => expect(guard.judgeUrl(url).protocol).toBe('https:'));
  test('the refusal of a field names it, what is taken there, and the setting that opens other ranges', () => {
    expect(blocked().ofField('credentials.host')).toMatchObject({
      code: 'blocked_url',
      message: 'Blocked URL',
      extra: {
        errors: [
          {
            field: 'credentials.host',
            message:
              'credentials.host: Blocked URL. Taken are https addresses of the public internet; ' +
              'the operator opens ranges of others with SSRF_ALLOWED_PRIVATE_CIDRS',
            rule: 'blocked_url',
          },
        ],
      },
    });
  });
  test('plain http is allowed for allowed ranges only', () => {
    const opened = openGuard(['127.0.0.1/32']);
    expect(opened.judgeUrl('http://127.0.0.1:9/hook').port).toBe('9');
    expect(opened.judgeUrl('http://localhost:9/hook').port).toBe('9');
    expect(() => opened.judgeUrl('http://127.0.0.2/')).toThrow('Blocked URL');
    expect(() => opened.judgeUrl('http://8.8.8.8/')).toThrow('Blocked URL');
  });
});

describe('an address that services of others can call', () => {
  test.each([
    'https://posts.example.com',
    'https://posts.example.com:8443/uploads/a?b=c',
    'https://8.8.8.8/a.png',
    'https://[2606:4700::1]/a.png',
    'https://localhost.example.com/a.png',
  ])('%s', (url) => expect(isReachableFromOutside(url)).toBe(true));
  test.each([
    'http://posts.example.com/a.png',
    'http://8.8.8.8/a.png',
    'https://localhost/a.png',
    'https://app.localhost./a.png',
    'https://127.0.0.1/a.png',
    'https://10.0.0.7/a.png',
    'https://192.168.1.5/a.png',
    'https://169.254.1.1/a.png',
    'https://[::1]/a.png',
    'https://[fe80::1]/a.png',
    'https://[fd00::1]/a.png',
    'https://printer.local/a.png',
    'https://minio/a.png',
    'https://minio:9000/a.png',
    'https://minio./a.png',
    'https://files.internal/a.png',
    'https://nas.home.arpa/a.png',
    'https://user:pass@posts.example.com/a.png',
    'ftp://posts.example.com/a.png',
    '/uploads/a.png',
    '',
  ])('but not %j', (url) => expect(isReachableFromOutside(url)).toBe(false));
});

test('texts parse to addresses and ranges, or to nothing', () => {
  expect(parseAddress('[::1]')).toEqual({ family: 6, value: 1n });
  expect(parseAddress('1:2:3:4:5:6:1.2.3.4')?.value).toBe(0x0001_0002_0003_0004_0005_0006_0102_0304n);
  expect(parseAddress('::ffff:1.2.3.4')?.value).toBe(0xffff_0102_0304n);
  expect(parseCidr(' 10.0.0.0/8 ')).toEqual({ family: 4, first: 0x0a000000n, last: 0x0affffffn });
  expect(parseCidr('::1')).toEqual({ family: 6, first: 1n, last: 1n });
  for (const bad of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.1/8',
    'x/8',
    '::/129',
    '10.0.0.0/-1',
    '10.0.0.0/0x8',
  ])
    expect(() => parseCidr(bad)).toThrow(/range/);
});
