import { describe, expect, test } from '@jest/globals';
import { authorizationOf, baseString, percentEncode, signatureOf } from './oauth1.ts';

describe('percentEncode', () => {
  test('encodes all but the unreserved characters (RFC 5849 3.6)', () => {
    expect(percentEncode("azAZ09-._~ +%&=*'()!☃")).toBe('azAZ09-._~%20%2B%25%26%3D%2A%27%28%29%21%E2%98%83');
  });
});

describe('baseString', () => {
  test('answers the base string of RFC 5849 3.4.1.1', () => {
    const base = baseString('POST', 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b', [
      ['oauth_consumer_key', '9djdj82h48djs9d2'],
      ['oauth_token', 'kkk9d7dh3k39sjv7'],
      ['oauth_signature_method', 'HMAC-SHA1'],
      ['oauth_timestamp', '137131201'],
      ['oauth_nonce', '7d8f3e4a'],
      ['c2', ''],
      ['a3', '2 q'],
    ]);
    expect(base).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26' +
        'oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26' +
        'oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  test('keeps a port that is not the usual one, and drops one that is (RFC 5849 3.4.1.2)', () => {
    expect(baseString('get', 'https://www.example.net:8080/?q=1', [])).toBe(
      'GET&https%3A%2F%2Fwww.example.net%3A8080%2F&q%3D1',
    );
    expect(baseString('GET', 'https://www.example.net:443/?q=1', [])).toBe(
      'GET&https%3A%2F%2Fwww.example.net%2F&q%3D1',
    );
  });
});

describe('authorizationOf', () => {
  const consumer = { consumerKey: 'dpf43f3p2l4k3l03', consumerSecret: 'kd94hf93k423kf44' };
  const signed = (header: string) => decodeURIComponent(/oauth_signature="([^"]+)"/.exec(header)![1]!);

  test('signs the three requests of RFC 5849 1.2 as it prints them', () => {
    const temporary = authorizationOf(consumer, {
      method: 'POST',
      url: 'https://photos.example.net/initiate',
      oauth: { oauth_callback: 'http://printer.example.com/ready' },
      nonce: 'wIjqoS',
      timestamp: '137131200',
      realm: 'Photos',
    });
    expect(temporary).toMatch(/^OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", /);
    expect(temporary).toContain('oauth_callback="http%3A%2F%2Fprinter.example.com%2Fready"');
    expect(temporary).toContain('oauth_signature="74KNZJeDHnMBp0EMJ9ZHt%2FXKycU%3D"');

    const token = authorizationOf(
      { ...consumer, token: 'hh5s93j4hdidpola', tokenSecret: 'hdhd0244k9j7ao03' },
      {
        method: 'POST',
        url: 'https://photos.example.net/token',
        oauth: { oauth_verifier: 'hfdp7dh39dks9884' },
        nonce: 'walatlh',
        timestamp: '137131201',
      },
    );
    expect(signed(token)).toBe('gKgrFCywp7rO0OXSjdot/IHF7IU=');

    const photo = authorizationOf(
      { ...consumer, token: 'nnch734d00sl2jdk', tokenSecret: 'pfkkdhi9sl3r4s00' },
      {
        method: 'GET',
        url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
        nonce: 'chapoH',
        timestamp: '137131202',
      },
    );
    expect(signed(photo)).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  });

  test('signs the parameters of a form', () => {
    const call = { method: 'POST', url: 'https://a.example/x', nonce: 'n', timestamp: '1' };
    const [bare, formed] = [
      authorizationOf(consumer, call),
      authorizationOf(consumer, { ...call, form: [['b', 'ä']] }),
    ];
    const base = (more: [string, string][]) =>
      baseString('POST', call.url, [
        ['oauth_consumer_key', consumer.consumerKey],
        ['oauth_nonce', 'n'],
        ['oauth_signature_method', 'HMAC-SHA1'],
        ['oauth_timestamp', '1'],
        ...more,
      ]);
    expect(signed(bare)).toBe(signatureOf(base([]), consumer.consumerSecret));
    expect(signed(formed)).toBe(signatureOf(base([['b', 'ä']]), consumer.consumerSecret));
    expect(signed(formed)).not.toBe(signed(bare));
  });
});
