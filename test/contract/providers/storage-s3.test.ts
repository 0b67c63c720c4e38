// oxlint-disable max-lines -- one wire and one fixture serve all cases
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../src/platform/outbound/index.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import type { StorageAdapter, Store } from '../../../src/providers/storage/_contract.ts';
import { gate } from '../../support/wire/eventually.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { type Exchange, startWire, type Wire } from '../../support/wire/wire.ts';
import type { S3Fixture } from '../../fixtures/providers/storage/_s3.ts';
import fixtureOf from '../../fixtures/providers/storage/s3_compatible.ts';

const waited: number[] = [];
const clock = { ...systemClock, sleep: async (ms: number) => void waited.push(ms) };
const MIB = 1024 * 1024;
const stream = (bytes: Uint8Array) => ({
  async *[Symbol.asyncIterator]() {
    yield bytes;
  },
});

let real: Outbound;
let wire: Wire;
let providers: ReturnType<typeof localProviders>;
const open = (id: string, values: Record<string, string>): Store => {
  const adapter = providers.resolve('storage', id);
  return providers.storage(adapter, { orgId: 'o1', values: providers.fields(adapter, values) });
};
const SIGNED = [
  'authorization',
  'x-amz-date',
  'x-amz-content-sha256',
  'x-amz-user-agent',
  'amz-sdk-invocation-id',
  'amz-sdk-request',
];
/** A signed request, whatever the values. */
const headersOf = (method: string) =>
  Object.fromEntries(
    [...SIGNED, ...(method === 'PUT' || method === 'POST' ? ['content-type'] : [])].map((name) => [
      name,
      expect.any(String),
    ]),
  );
const exchange = (
  method: string,
  at: string,
  says: Exchange['says'] = {},
  text: unknown = expect.anything(),
): Exchange => ({
  asks: { method, url: fixtureOf.bucket + at, headers: headersOf(method), text },
  says,
});

beforeAll(async () => {
  real = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  wire = await startWire(real);
  providers = localProviders({ outbound: wire.outbound, clock });
});
afterEach(() => {
  waited.length = 0;
});
afterAll(async () => {
  await providers[Symbol.asyncDispose]();
  await wire[Symbol.asyncDispose]();
  await real[Symbol.asyncDispose]();
});

const UPLOAD = { key: 'o1/film', id: 'u1' };
const PARTS = [{ number: 1, bytes: 7, etag: '"p1"' }];
const DONE = { text: '<CompleteMultipartUploadResult><ETag>"w"</ETag></CompleteMultipartUploadResult>' };

describe('an upload whose completion was not answered', () => {
  test('is done when the object exists, and is not completed again', async () => {
    wire.plays([
      exchange('POST', '/kept/o1/film?uploadId=u1', { status: 500 }),
      exchange('HEAD', '/kept/o1/film', {
        headers: { 'content-length': '7', 'last-modified': 'Wed, 12 Aug 2026 10:00:00 GMT' },
      }),
    ]);
    await open('s3_compatible', fixtureOf.values).multipart!.complete(UPLOAD, PARTS);
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
  test.each([
    ['is not there', { status: 404 }],
    ['is an older one', { headers: { 'content-length': '6', 'last-modified': 'Wed, 12 Aug 2026 10:00:00 GMT' } }],
  ])('is completed again when the object %s', async (_, says) => {
    wire.plays([
      exchange('POST', '/kept/o1/film?uploadId=u1', { status: 500 }),
      exchange('HEAD', '/kept/o1/film', says),
      exchange('POST', '/kept/o1/film?uploadId=u1', DONE),
    ]);
    await open('s3_compatible', fixtureOf.values).multipart!.complete(UPLOAD, PARTS);
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
  test('is not done when an error comes with status 200', async () => {
    const error = { text: '<Error><Code>InvalidPart</Code><Message>No.</Message></Error>' };
    wire.plays([
      exchange('POST', '/kept/o1/film?uploadId=u1', error),
      exchange('HEAD', '/kept/o1/film', { status: 404 }),
      exchange('POST', '/kept/o1/film?uploadId=u1', error),
    ]);
    await failureOf(open('s3_compatible', fixtureOf.values).multipart!.complete(UPLOAD, PARTS));
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
});

describe('a request that may be repeated', () => {
  const put = (says: Exchange['says']) => exchange('PUT', '/kept/o1/a?x-id=PutObject', says, 'hello');
  const store = () => open('s3_compatible', fixtureOf.values);
  const hello = () => store().put('o1/a', { from: stream(Buffer.from('hello')), bytes: 5, mime: 'text/plain' });

  test('is sent three times at most, and the second may succeed', async () => {
    wire.plays([put({ status: 503 }), put({ headers: { etag: '"e"' } })]);
    await hello();
    expect([wire.faults, wire.asked.length, waited]).toEqual([[], 2, [200]]);
    wire.plays([put({ status: 500 }), put({ status: 500 }), put({ status: 500 })]);
    expect((await failureOf(hello())).failure).toBe('unavailable');
    expect([wire.faults, wire.asked.length, waited]).toEqual([[], 3, [200, 200, 1_000]]);
  });
  test('waits as the server asks, up to a limit', async () => {
    wire.plays([put({ status: 503, headers: { 'retry-after': '3' } }), put({ headers: { etag: '"e"' } })]);
    await hello();
    expect(waited).toEqual([3_000]);
    wire.plays([put({ status: 503, headers: { 'retry-after': '60' } })]);
    expect(await failureOf(hello())).toMatchObject({ failure: 'unavailable', retryAfterMs: 60_000 });
    expect([wire.faults, wire.asked.length, waited]).toEqual([[], 1, [3_000]]);
  });
  test('is not repeated after a refusal', async () => {
    wire.plays([put({ status: 403, text: '<Error><Code>AccessDenied</Code></Error>' })]);
    expect(await failureOf(hello())).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('the key may not do this'),
    });
    expect(wire.asked).toHaveLength(1);
  });
});

test('an upload that fails in the middle is aborted', async () => {
  const begun = { text: '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>' };
  const failed = { status: 503, headers: { 'retry-after': '60' } }; // longer than is waited for
  wire.plays([
    exchange('POST', '/kept/o1/film?uploads=', begun),
    exchange('PUT', '/kept/o1/film?partNumber=1&uploadId=u1&x-id=UploadPart', failed),
    exchange('DELETE', '/kept/o1/film?uploadId=u1&x-id=AbortMultipartUpload', { status: 204 }),
  ]);
  const refused = gate();
  const now = () => {
    // asked for by who judges the answer to the first part: in this turn it has failed
    if (wire.asked.length === 2) setImmediate(refused.open);
    return systemClock.now();
  };
  await using others = localProviders({ clock: { ...clock, now }, outbound: wire.outbound });
  async function* slowly() {
    for (let given = 0; given < 3; given += 1) {
      yield Buffer.alloc(8 * MIB, 'x');
      await refused.passed; // the first part has failed before there is a second
    }
  }
  const adapter = others.resolve('storage', 's3_compatible');
  const store = others.storage(adapter, { orgId: 'o1', values: others.fields(adapter, fixtureOf.values) });
  expect((await failureOf(store.put('o1/film', { from: slowly(), bytes: 24 * MIB, mime: 'video/mp4' }))).failure).toBe(
    'unavailable',
  );
  expect([wire.faults, wire.left]).toEqual([[], 0]); // of three parts one went out
});

describe('an object whose HEAD is refused', () => {
  const asked = (says: Exchange['says']): Exchange[] => [
    exchange('HEAD', '/kept/o1/film', { status: 403 }),
    {
      asks: {
        method: 'GET',
        url: `${fixtureOf.bucket}/kept/o1/film?x-id=GetObject`,
        headers: { ...headersOf('GET'), range: 'bytes=0-0' },
      },
      says,
    },
  ];
  test.each([
    ['ExpiredToken', 'reauthorize'],
    ['InvalidAccessKeyId', 'reauthorize'],
    ['AccessDenied', 'rejected'],
  ])('is judged by what GET says: %s is %s', async (code, failure) => {
    wire.plays(asked({ status: 403, text: `<Error><Code>${code}</Code></Error>` }));
    expect((await failureOf(open('s3_compatible', fixtureOf.values).open('o1/film'))).failure).toBe(failure);
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
  test('is not there when GET says so', async () => {
    wire.plays(asked({ status: 404, text: '<Error><Code>NoSuchKey</Code></Error>' }));
    expect(await open('s3_compatible', fixtureOf.values).open('o1/film')).toBeUndefined();
  });
});

describe('a removal of several objects', () => {
  const removal = (text: string): Exchange => ({
    asks: {
      method: 'POST',
      url: `${fixtureOf.bucket}/?delete=`,
      headers: { ...headersOf('POST'), 'content-md5': expect.any(String) },
      text: expect.stringContaining('<Quiet>false</Quiet>'),
    },
    says: { text },
  });
  const remove = () => open('s3_compatible', fixtureOf.values).remove(['o1/a', 'o1/b']);
  const key = (name: string) => `<Key>kept/o1/${name}</Key>`;

  test('is done when each object is named as deleted, or as missing', async () => {
    const missing = `<Error>${key('b')}<Code>NoSuchKey</Code></Error>`;
    wire.plays([removal(`<DeleteResult><Deleted>${key('a')}</Deleted>${missing}</DeleteResult>`)]);
    await remove();
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
  test.each([
    ['nothing', ''],
    ['no object', '<DeleteResult></DeleteResult>'],
    ['a page of something else', '<html><body>Welcome</body></html>'],
    ['one object only', `<DeleteResult><Deleted>${key('a')}</Deleted></DeleteResult>`],
  ])('is not done when the answer names %s', async (_, text) => {
    wire.plays([removal(text)]);
    expect((await failureOf(remove())).message).toContain('did not say whether it removed');
    expect([wire.faults, wire.left]).toEqual([[], 0]);
  });
});

describe('a check', () => {
  test('puts, finds and removes an object with a key that has no access to the bucket itself', async () => {
    const turned: Outbound = {
      ...wire.outbound,
      // it has another name each time
      stream: (url, request) => wire.outbound.stream(url.replace(/check-[0-9a-f-]{36}/, 'check'), request),
    };
    wire.plays([
      exchange('HEAD', '/', { status: 403 }),
      exchange('PUT', '/kept/check?x-id=PutObject', { headers: { etag: '"e"' } }, 'check'),
      exchange('HEAD', '/kept/check', {
        headers: { 'content-length': '5', 'last-modified': 'Wed, 12 Aug 2026 10:00:00 GMT' },
      }),
      exchange('DELETE', '/kept/check?x-id=DeleteObject', { status: 204 }),
    ]);
    await using others = localProviders({ outbound: turned, clock });
    const adapter = others.resolve('storage', 's3_compatible');
    const said = await others.check(adapter, others.fields(adapter, fixtureOf.values));
    expect([wire.faults, wire.left, said]).toEqual([[], 0, 'An object was put, found and removed']);
  });
});

const brands = await Promise.all(
  adapters
    .filter(
      (adapter): adapter is StorageAdapter => adapter.domain === 'storage' && adapter.facts?.['protocol'] === 's3',
    )
    .map(
      async ({ id }) =>
        [id, ((await import(`../../fixtures/providers/storage/${id}.ts`)) as { default: S3Fixture }).default] as const,
    ),
);

test('twelve brands have the S3 API', () => expect(brands).toHaveLength(12));

describe.each(brands)('%s', (id, { values, acl, publicAt, bucket }) => {
  test('has a public address where one is set, with the folder and the key', () => {
    const told = open(id, { ...values, publicUrl: 'https://cdn.example.com/media/' });
    expect(told.url('o1/a.b-c_d.mp4')).toBe('https://cdn.example.com/media/kept/o1/a.b-c_d.mp4');
    expect(open(id, values).url('o1/a.mp4')).toBeUndefined();
  });

  test('sends a visibility only where the brand has one and it is set', async () => {
    const adapter = providers.resolve('storage', id);
    if (!acl) {
      expect(() => providers.fields(adapter, { ...values, visibility: 'public-read' })).toThrow('visibility');
      return;
    }
    const { sessionToken: _, ...own } = values;
    const store = open(id, { ...own, visibility: 'public-read' });
    expect(store.url('o1/a.mp4')).toBe(publicAt === undefined ? undefined : `${publicAt}/kept/o1/a.mp4`);
    const headers = { ...headersOf('PUT'), 'x-amz-acl': 'public-read' };
    wire.plays([
      {
        asks: { method: 'PUT', url: `${bucket}/kept/o1/a?x-id=PutObject`, headers, text: 'hello' },
        says: { headers: { etag: '"e"' } },
      },
      {
        asks: { method: 'POST', url: `${bucket}/kept/o1/b?uploads=`, headers },
        says: { text: '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>' },
      },
    ]);
    await store.put('o1/a', { from: stream(Buffer.from('hello')), bytes: 5, mime: 'text/plain' });
    await store.multipart!.begin('o1/b', { bytes: 1, mime: 'video/mp4' });
    expect([wire.faults, wire.left]).toEqual([[], 0]);
    const { url, headers: told } = await store.direct!.put('o1/c', { bytes: 1, mime: 'video/mp4' }, 60);
    expect(told).toEqual({ 'content-type': 'video/mp4', 'x-amz-acl': 'public-read' });
    expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;content-type;host;x-amz-acl');
  });

  test.each([
    '../media',
    'media/../other',
    'https://elsewhere.example',
    'a',
    'arn:aws:s3:::media',
    'me dia',
    'media?x',
    'media#x',
    'média',
  ])('refuses an invalid name of a bucket: %j', (name) =>
    expect(() => providers.fields(providers.resolve('storage', id), { ...values, bucket: name })).toThrow('Bucket'),
  );
  test.each(['evil.example/', 'fra1.evil.example', 'fra1@evil', 'x:y', '-', 'a b', '..'])(
    'refuses an invalid label of a host: %j',
    (name) => {
      const adapter = providers.resolve('storage', id);
      for (const field of ['region', 'accountId'].filter((one) => one in adapter.credentials))
        expect(() => providers.fields(adapter, { ...values, [field]: name })).toThrow(
          adapter.credentials[field]!.label,
        );
    },
  );
  test.each(['/kept', '../kept', 'a/../b', 'a//b', '.hidden', 'a/.b', 'kept?x', 'a b'])(
    'refuses a folder that leads elsewhere: %j',
    (name) => {
      expect(() => providers.fields(providers.resolve('storage', id), { ...values, keyPrefix: name })).toThrow(
        'Folder',
      );
    },
  );
});

test.each(['../x', '/x', 'a//b', 'a/../b', '.x', 'a/.x', '', 'a\0b', 'a b', 'a/', 'x'.repeat(513)])(
  'an invalid key sends no request: %j',
  async (key) => {
    wire.plays([]);
    const store = open('s3_compatible', fixtureOf.values);
    const work = [
      store.put(key, { from: stream(Buffer.from('x')), bytes: 1, mime: 'text/plain' }),
      store.remove([key]),
      store.remove([key, 'o1/a']),
      store.multipart!.begin(key, { bytes: 1, mime: 'text/plain' }),
      store.direct!.get(key, 60),
      store.direct!.put(key, { bytes: 1, mime: 'text/plain' }, 60),
      store.direct!.confirm(key),
    ];
    for (const outcome of await Promise.allSettled(work))
      expect(outcome).toMatchObject({ reason: { failure: 'rejected' } });
    expect([await store.open(key), wire.asked]).toEqual([undefined, []]);
  },
);

test('an endpoint at a private address gets no request', async () => {
  await using strict = localProviders({ outbound: openOutbound({ timeoutMs: 5_000, allowedPrivateCidrs: [] }), clock });
  const adapter = strict.resolve('storage', 's3_compatible');
  for (const endpoint of [
    'https://127.0.0.1:9000',
    'https://169.254.169.254',
    'https://10.0.0.8/s3',
    'http://93.184.215.14',
  ]) {
    const failure = await failureOf(strict.check(adapter, strict.fields(adapter, { ...fixtureOf.values, endpoint }))!);
    expect([endpoint, failure.failure]).toEqual([endpoint, 'rejected']);
  }
});

test('an endless list is not read to its end', async () => {
  wire.plays([
    exchange('GET', '/kept/o1/film?uploadId=u1&x-id=ListParts', {
      text: `<ListPartsResult>${' '.repeat(5 * MIB)}</ListPartsResult>`,
    }),
  ]);
  expect((await failureOf(open('s3_compatible', fixtureOf.values).multipart!.parts(UPLOAD))).failure).toBe(
    'unavailable',
  );
});

test('credentials in the environment are not used', async () => {
  const others = {
    AWS_ACCESS_KEY_ID: 'AKIAOTHER',
    AWS_SECRET_ACCESS_KEY: 'other',
    AWS_SESSION_TOKEN: 'other',
    AWS_REGION: 'xx-other-1',
    AWS_ENDPOINT_URL: 'https://elsewhere.example',
    AWS_ENDPOINT_URL_S3: 'https://elsewhere.example',
    AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_SUPPORTED',
    AWS_USE_DUALSTACK_ENDPOINT: 'true',
    AWS_USE_FIPS_ENDPOINT: 'true',
    AWS_MAX_ATTEMPTS: '9',
  };
  const before = Object.fromEntries(Object.keys(others).map((name) => [name, process.env[name]]));
  Object.assign(process.env, others);
  try {
    const { values, bucket } = brands.find(([id]) => id === 's3')![1];
    const url = (await open('s3', values).direct!.get('o1/a', 60))!;
    expect(url.startsWith(`${bucket}/kept/o1/a?`)).toBe(true);
    expect(new URL(url).searchParams.get('X-Amz-Credential')).toMatch(/^AKIDEXAMPLE7\/\d{8}\/eu-central-1\//);
  } finally {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
});

test('Storj has large parts from the service, and from clients those that nobody needs to tell them', async () => {
  const { values, bucket } = brands.find(([id]) => id === 'storj')![1];
  const store = open('storj', values);
  const asks = {
    method: 'PUT',
    url: `${bucket}/kept/o1/film?x-id=PutObject`,
    headers: headersOf('PUT'),
    text: expect.anything(),
  };
  wire.plays([{ asks, says: { headers: { etag: '"e"' } } }]);
  await store.put('o1/film', { from: stream(Buffer.alloc(24 * MIB, 'x')), bytes: 24 * MIB, mime: 'video/mp4' });
  expect([store.multipart!.partBytes(24 * MIB), wire.faults, wire.left]).toEqual([5 * MIB, [], 0]);
});

test('a region in China has its own host', async () => {
  const { values } = brands.find(([id]) => id === 's3')![1];
  expect(await open('s3', { ...values, region: 'cn-north-1' }).direct!.get('o1/a', 60)).toMatch(
    /^https:\/\/media\.s3\.cn-north-1\.amazonaws\.com\.cn\/kept\/o1\/a\?/,
  );
});
