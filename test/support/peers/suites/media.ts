// oxlint-disable max-lines -- one suite: each check of every brand of media
import { expect } from '@jest/globals';
import { AppError, systemClock } from '../../../../src/platform/kernel/index.ts';
import { openOutbound, type Outbound, type OutboundRequest } from '../../../../src/platform/outbound/index.ts';
import { PROMPT_LENGTH } from '../../../../src/providers/media/_limits.ts';
import { refused } from '../../../../src/providers/kit/declare/fallback.ts';
import { OPERATION_MS } from '../../../../src/providers/kit/wire/large.ts';
import {
  checkMediaRequest,
  MEDIA_OPERATIONS,
  type MediaAdapter,
  type MediaHandle,
  type MediaOperation,
  type MediaOutput,
  type MediaRequest,
  type MediaService,
  type MediaStarted,
  type SourceFile,
  takesOf,
} from '../../../../src/providers/registry/index.ts';
import { localProviders } from '../../worlds/providers.ts';
import type { Instead, Wire } from '../../wire/wire.ts';
import { failureOf } from '../fake-network.ts';
import {
  type Case,
  type Check,
  type LocalProviders,
  type ProviderFixture,
  type Says,
  sharedWire,
  type Suite,
} from './provider.ts';
import { addressChecks, keyChecks } from './setting-checks.ts';

export type { Asks, Case, Exchange, Refusal, Says } from './provider.ts';

/**
 * What a provider of media answers, written from its documents. A case has the name of an operation and a request: it
 * is started, and polled by connections that know nothing but the stored handle, until it ends. Further cases are
 * `cancel` (of a handle), `find` (of a request), `tools` (by name), `download` (of an output) and `check`.
 */
export interface MediaFixture extends ProviderFixture {
  /** Milliseconds that a call may take which answers with the result of this operation, where it has more than usual. */
  longest?: Readonly<Partial<Record<MediaOperation, number>>>;
}
/** A request without what every one has. */
export type Asked = Partial<Omit<MediaRequest, 'operation'>>;

export const NOW = new Date('2026-11-23T10:00:00.000Z');
/** Job id of every input that names none. */
export const KEY = '0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
export const PROMPT = 'A lighthouse in the fog';
/** Where a provider may tell that a job is done. */
export const CALLBACK = 'https://rookery.example/files/jobs/callback/token-of-the-job';

const fileOf = (kind: SourceFile['kind'], name: string, contentType: string): SourceFile => {
  const bytes = Buffer.from(`bytes of ${name}`);
  return {
    kind,
    name,
    contentType,
    size: bytes.length,
    publicUrl: `https://files.rookery.example/${name}`,
    async *open() {
      yield bytes;
    },
    async *read(from: number, to: number) {
      yield bytes.subarray(from, to);
    },
  };
};
export const picture = fileOf('image', 'red.png', 'image/png');
export const photo = fileOf('image', 'sea.jpg', 'image/jpeg');
export const film = fileOf('video', 'clip.mp4', 'video/mp4');
/** It lasts longer than the transcriptions of it say where they tell a length. */
export const sound: SourceFile = { ...fileOf('audio', 'voice.mp3', 'audio/mpeg'), seconds: 7 };

interface Port {
  providers: LocalProviders;
  adapter: MediaAdapter;
  /** A connection that has learned nothing. */
  fresh(): MediaService;
}
const requestOf = (operation: MediaOperation, { model = null, ...asked }: Asked): MediaRequest => ({
  operation,
  model,
  sources: [],
  key: KEY,
  ...asked,
});
const stored = (handle: MediaHandle) => JSON.parse(JSON.stringify(handle)) as MediaHandle;

/** Reads a body as text. */
export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}
/** An output as facts write it: bytes as their text. */
async function shownOf(output: MediaOutput): Promise<unknown> {
  if (!('open' in output)) return output;
  const shown = { kind: output.kind, contentType: output.contentType, text: await textOf(output.open()) };
  await output.discard();
  return shown;
}

/** A provider that says more often that it is still at work has other facts than any that are played. */
const MOST_POLLS = 10;

/**
 * Starts an operation and polls it to its end; a failed one throws, as a refused call does. `heard` is told each state.
 */
async function ran({ fresh }: Port, operation: MediaOperation, asked: Asked, heard?: (state: string) => void) {
  return ended({ fresh }, await fresh().start(requestOf(operation, asked)), asked.prompt, heard);
}
async function ended(
  { fresh }: Pick<Port, 'fresh'>,
  started: MediaStarted,
  prompt?: string,
  heard?: (state: string) => void,
) {
  const progress: number[] = [];
  let done = started.state === 'done' ? started : undefined;
  for (let polls = 0; started.state === 'running' && !done && polls < MOST_POLLS; polls += 1) {
    const polled = await fresh().poll!(stored(started.handle), prompt);
    heard?.(polled.state);
    if (polled.state === 'failed') throw refused(polled.failure, polled.message);
    if (polled.state === 'done') done = polled;
    else if (polled.progress !== undefined) progress.push(polled.progress);
  }
  if (!done) throw new Error('It never ended');
  const { outputs, usage, cost, segments } = done;
  return {
    outputs: await Promise.all(outputs.map(shownOf)),
    usage,
    ...(cost && cost.source !== 'price_table' && { cost }), // prices have tests of their own
    ...(segments && { segments }),
    ...(progress.length > 0 && { progress }),
  };
}

type Operations = Suite<MediaAdapter, Port, MediaFixture>['operations'];
const OPERATIONS: Operations = {
  ...Object.fromEntries(
    MEDIA_OPERATIONS.map((operation) => [operation, (port: Port, asked: Asked) => ran(port, operation, asked)]),
  ),
  poll: ({ fresh }, handle: MediaHandle) => fresh().poll!(handle),
  cancel: ({ fresh }, handle: MediaHandle) => fresh().cancel!(handle),
  find: ({ fresh }, { operation, ...asked }: Asked & { operation: MediaOperation }) =>
    fresh().find!(requestOf(operation, asked), NOW),
  tools: ({ fresh }, name: string) => fresh().tools![name]!(),
  async download({ fresh }, output: MediaOutput) {
    const { contentType, body } = await fresh().download(output);
    return { contentType, text: await textOf(body) };
  },
};

/** The cases that start something. */
const startsOf = (fixture: MediaFixture) =>
  fixture.cases.filter(({ operation, failure }) => isOperation(operation) && failure === undefined);
const isOperation = (name: string): name is MediaOperation => (MEDIA_OPERATIONS as readonly string[]).includes(name);

/** Every text in a body. */
const textsIn = (body: unknown): string[] =>
  typeof body === 'string'
    ? [body]
    : typeof body === 'object' && body !== null
      ? Object.values(body).flatMap(textsIn)
      : [];
const withTexts = (body: unknown, write: (text: string) => string): unknown =>
  JSON.parse(JSON.stringify(body), (_, value: unknown) => (typeof value === 'string' ? write(value) : value));

const FOREIGN = 'https://elsewhere.example/poll/1';
/** Cuts of a submit beside those that every creating call meets: before it was sent, and in its answer. */
const CUTS: readonly (readonly [Instead, 'unavailable' | 'lost'])[] = [
  ['unsent', 'unavailable'],
  ['half', 'lost'],
];

/** An address is broken once in a fixture: at the same one the same code reads the answer. */
function isFirst(one: Case, at: number, { cases }: MediaFixture): boolean {
  const placeOf = ({ asks: { method, url } }: Case['exchanges'][number]) => `${method} ${url}`;
  const place = placeOf(one.exchanges[at]!);
  const first = cases.find(({ exchanges }) => exchanges.some((each) => placeOf(each) === place));
  return first === one && one.exchanges.findIndex((each) => placeOf(each) === place) === at;
}

function moreChecks(adapter: MediaAdapter, fixture: MediaFixture): Check[] {
  const checks: Check[] = [];
  const add = (name: string, run: () => Promise<void>) => void checks.push({ name, run });

  /** An adapter on the wire, which is asked for these exchanges. */
  async function onWire<T>(
    { values: more }: Pick<Case, 'values'>,
    work: (port: Port, wire: Wire) => Promise<T>,
    way: (outbound: Outbound) => Outbound = (outbound) => outbound,
  ): Promise<T> {
    const wire = await sharedWire();
    const clock = { ...systemClock, now: () => NOW, sleep: async () => {} };
    await using providers = localProviders({ clock, outbound: way(wire.outbound) });
    const values = providers.fields({ credentials: adapter.setup!.fields }, { ...fixture.values, ...more });
    return work(mediaSuite.open(providers, adapter, values, fixture), wire);
  }
  /** A case on the wire with other exchanges, and the way in which it fails. */
  const failing = (one: Case, exchanges: Case['exchanges'], instead?: { at: number; answer: Instead }) =>
    onWire(one, async (port, wire) => {
      wire.plays(exchanges, instead);
      const [outcome] = await Promise.allSettled([OPERATIONS[one.operation]!(port, one.input)]);
      const failure =
        outcome.status === 'fulfilled' ? undefined : ((outcome.reason as { failure?: string }).failure ?? 'unknown');
      return { failure, asked: [...wire.asked], faults: [...wire.faults] };
    });

  add('has a fixture for everything that its connection offers', async () => {
    await using providers = localProviders();
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    const { cancel, find, tools = {} } = providers.mediaService(adapter, { orgId: null, values });
    const shown = fixture.cases.map(({ operation, input }) =>
      operation === 'tools' ? `tools.${input as string}` : operation,
    );
    const offered = [
      ...(cancel ? ['cancel'] : []),
      ...(find ? ['find'] : []),
      ...(outputsOf(fixture).some((output) => 'withKey' in output) ? ['download'] : []),
      ...Object.keys(tools).map((name) => `tools.${name}`),
    ];
    expect(offered.filter((name) => !shown.includes(name))).toEqual([]);
    expect(fixture.refusals.some(({ failure, sentence }) => failure === 'rejected' && sentence)).toBe(true);
  });

  add('has facts of a job that goes on and of one that failed, where there are jobs', async () => {
    const states = new Set<string>();
    const isJob = await onWire({}, async ({ fresh }) => fresh().poll !== undefined);
    for (const one of startsOf(fixture))
      await onWire(one, async (port, wire) => {
        wire.plays(one.exchanges);
        await ran(port, one.operation as MediaOperation, one.input as Asked, (state) => void states.add(state));
      });
    expect([...states].toSorted()).toEqual(isJob ? ['done', 'running'] : []);
    const late = fixture.refusals.filter(({ operation, of, at = 0 }) => {
      const one = startsOf(fixture).find((each) => each.operation === operation && (!of || each.name === of));
      return one && at > submitOf(one);
    });
    expect(late.length > 0).toBe(isJob);
  });

  add('has for each call the time of its operation: a submit a minute, a poll half of one', async () => {
    for (const one of startsOf(fixture)) {
      const times: (number | undefined)[] = [];
      const timed =
        <R>(send: (url: string, request?: OutboundRequest) => Promise<R>) =>
        (url: string, request?: OutboundRequest) => {
          times.push(request?.timeoutMs);
          return send(url, request);
        };
      await onWire(
        one,
        async (port, wire) => {
          wire.plays(one.exchanges);
          await ran(port, one.operation as MediaOperation, one.input as Asked);
        },
        (outbound) => ({ ...outbound, fetch: timed(outbound.fetch), stream: timed(outbound.stream) }),
      );
      const most = one.exchanges.map((_, at) => longestOf(one, at, fixture));
      expect([one.operation, one.name, times.map((ms, at) => ms !== undefined && ms <= most[at]!)]).toEqual([
        one.operation,
        one.name,
        times.map(() => true),
      ]);
    }
  });

  for (const one of startsOf(fixture)) {
    const title = one.name === undefined ? one.operation : `${one.operation} (${one.name})`;
    const submit = one.exchanges.find(({ creates }) => creates);
    if (!submit) throw new Error(`${title} starts nothing`);
    add(`${title}: sends its submit once, wherever the answer is cut`, async () => {
      for (const [at, { creates }] of one.exchanges.entries())
        for (const [answer, wanted] of creates && isFirst(one, at, fixture) ? CUTS : []) {
          const { failure, asked, faults } = await failing(one, one.exchanges, { at, answer });
          const sent = answer === 'unsent' ? 0 : 1;
          expect([answer, failure, asked.length - at, faults]).toEqual([answer, wanted, sent, []]);
        }
    });

    const later = new Set(one.exchanges.map(({ asks }) => asks.url));
    const named = textsIn(submit.says.json).filter((text) => later.has(text));
    if (named.length > 0)
      add(`${title}: sends its key to no foreign host that an answer names`, async () => {
        for (const address of named) {
          const exchanges = one.exchanges.map((exchange) => ({
            ...exchange,
            says: {
              ...exchange.says,
              json: withTexts(exchange.says.json, (text) => (text === address ? FOREIGN : text)),
            },
          }));
          const { failure, asked, faults } = await failing(one, exchanges);
          expect(faults).toEqual([]);
          expect(['rejected', undefined]).toContain(failure); // undefined: nobody needs that address
          expect(asked.filter((line) => line.includes('elsewhere.example'))).toEqual([]);
        }
      });

    add(`${title}: refuses bad input with the path of the field, before any call`, () => badInput(adapter, one));
  }

  const found = fixture.cases.find(({ operation, result }) => operation === 'find' && result !== undefined);
  if (found)
    add('a job whose submit was lost is found, ends as any other, and was sent once', async () => {
      const { operation, prompt } = found.input as Asked & { operation: MediaOperation };
      const one = startsOf(fixture).find(({ operation: started }) => started === operation)!;
      const submit = one.exchanges.slice(0, submitOf(one) + 1);
      expect((await failing(one, submit, { at: submit.length - 1, answer: 'hang-up' })).failure).toBe('lost');
      await onWire(found, async (port, wire) => {
        wire.plays([...found.exchanges, ...one.exchanges.slice(submit.length)]);
        const handle = (await OPERATIONS['find']!(port, found.input)) as MediaHandle;
        expect(await ended(port, { state: 'running', handle }, prompt)).toEqual(one.result);
        expect([wire.faults, wire.left]).toEqual([[], 0]);
        // only a repeat with a key asks for the same once more
        const again = found.exchanges.filter(
          ({ asks }) => asks.url === submit.at(-1)!.asks.url && asks.method === 'POST',
        );
        expect(again.every(({ asks }) => asks.headers?.['idempotency-key'] === KEY)).toBe(true);
      });
    });

  const results = outputsOf(fixture).filter((output) => !('withKey' in output));
  if (results.length > 0) {
    const fetched = (url: string, says: Says, judge: (url: string) => unknown = () => undefined) =>
      onWire(
        {},
        async ({ fresh }, wire) => {
          wire.plays([{ asks: { method: 'GET', url: url.replace(/^http:/, 'https:'), headers: {} }, says }]);
          const work = fresh()
            .download({ kind: 'video', url })
            .then(async ({ body }) => textOf(body));
          const [outcome] = await Promise.allSettled([work]);
          return { outcome, asked: [...wire.asked], faults: [...wire.faults] };
        },
        (outbound) => ({
          ...outbound,
          stream: async (to, request) => {
            judge(to);
            return outbound.stream(to, request);
          },
        }),
      );
    add('results: each documented address may be asked, and gets no key', async () => {
      await using strict = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: [] });
      for (const { url } of results)
        expect([url, await fetched(url, { text: 'a film' }, (to) => strict.judge(to))]).toEqual([
          url,
          { outcome: { status: 'fulfilled', value: 'a film' }, asked: [expect.any(String)], faults: [] },
        ]);
    });
    add('results: one that expired says so, and for how long it was kept', async () => {
      const { url } = results[0]!;
      const kept = adapter.rhythm?.keptMs === undefined ? '' : ', which it keeps for';
      for (const status of [403, 404, 410]) {
        const { outcome } = await fetched(url, { status });
        expect(outcome).toMatchObject({
          reason: {
            failure: 'rejected',
            message: expect.stringContaining(`no longer has the result (${status})${kept}`),
          },
        });
      }
      expect((await fetched(url, { status: 503 })).outcome).toMatchObject({ reason: { failure: 'unavailable' } });
    });
  }
  add('results: one at an address of its own network is not fetched', async () => {
    await using providers = localProviders();
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    const service = providers.mediaService(adapter, { orgId: null, values });
    for (const url of [
      'http://10.0.0.1/a.mp4',
      'https://10.0.0.1/a.mp4',
      'https://[fd00::1]/a.mp4',
      'file:///etc/passwd',
    ]) {
      const { failure, message } = await failureOf(service.download({ kind: 'video', url }));
      expect([url, failure, message.includes('10.0.0.1')]).toEqual([url, 'rejected', false]);
    }
  });
  const [first] = startsOf(fixture);
  return [
    ...checks,
    ...keyChecks(mediaSuite, adapter, fixture),
    ...addressChecks(mediaSuite, adapter, fixture, ({ fresh }) =>
      fresh().start(requestOf(first!.operation as MediaOperation, first!.input as Asked)),
    ),
  ];
}

/** The place of the call that is paid for: the last one that makes something. */
const submitOf = ({ exchanges }: Case): number => exchanges.findLastIndex(({ creates }) => creates);
/** The results at addresses that the cases end with. */
const outputsOf = (fixture: MediaFixture): Extract<MediaOutput, { url: string }>[] =>
  startsOf(fixture).flatMap(({ result }) =>
    (result as { outputs: MediaOutput[] }).outputs.flatMap((output) => ('url' in output ? [output] : [])),
  );

/** Milliseconds that a call may take: of an answer with a result, of a submit, of a question. */
function longestOf(one: Case, at: number, { longest }: MediaFixture): number {
  const operation = one.operation as MediaOperation;
  const submit = submitOf(one);
  const isJob = submit < one.exchanges.length - 1;
  const bytes = (result: unknown) => (result as { outputs: object[] }).outputs.some((output) => 'text' in output);
  if (at > submit) return bytes(one.result) ? OPERATION_MS.submit : OPERATION_MS.poll; // a result comes with its answer
  if (isJob) return OPERATION_MS.submit;
  return (
    longest?.[operation] ?? OPERATION_MS[operation === 'speech' || operation === 'transcription' ? 'speech' : 'image']
  );
}

/** Breaks every part of a request that its model bounds. */
async function badInput(adapter: MediaAdapter, { operation, input }: Case): Promise<void> {
  const good = requestOf(operation as MediaOperation, input as Asked);
  const takes = takesOf(adapter, good.operation, good.model)!;
  const faultsOf = (bad: Partial<MediaRequest>): string[] => {
    try {
      checkMediaRequest(adapter, { ...good, ...bad });
      return [];
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return (error.extra['errors'] as { field: string }[]).map(({ field }) => field);
    }
  };
  expect(faultsOf({})).toEqual([]);
  const bad: [keyof MediaRequest | `sources.${number}`, Partial<MediaRequest>][] = [
    ['ratio', { ratio: '31:7' }],
    ['size', { size: '3x3' }],
    ['seconds', { seconds: 86_400 }],
    ['seconds', { seconds: -1 }],
    ['count', { count: 1_000 }],
    ['count', { count: 0 }],
    ['options', { options: { unknown: 'x' } }],
  ];
  if (takes.prompt !== 'optional') bad.push(['prompt', { prompt: ' ' }]);
  bad.push(['prompt', { prompt: 'x'.repeat((takes.promptLength ?? PROMPT_LENGTH) + 1) }]);
  if (takes.voices !== 'any') bad.push(['voice', { voice: 'nobody' }]);
  if (takes.sources)
    bad.push(['sources', { sources: Array.from({ length: takes.sources.max + 1 }, () => good.sources[0] ?? picture) }]);
  else bad.push(['sources', { sources: [picture] }]);
  const other = [picture, film, sound].find(({ kind }) => !takes.sources?.kinds.includes(kind));
  if (takes.sources && other) bad.push(['sources.0', { sources: [other, ...good.sources.slice(1)] }]);
  if (takes.sources?.fetched && good.sources[0]) {
    const { publicUrl: _, ...unreachable } = good.sources[0];
    bad.push(['sources.0', { sources: [unreachable, ...good.sources.slice(1)] }]);
  }
  for (const [field, change] of bad) {
    const told = faultsOf(change).map((path) => (path.startsWith(`${field}.`) ? field : path));
    expect([field, change, told.includes(field)]).toEqual([field, change, true]);
  }
  if (good.model !== null) expect(faultsOf({ model: 'no such model' })).toEqual(['model']);
  const lacking = MEDIA_OPERATIONS.find((each) => !takesOf(adapter, each, good.model));
  if (lacking) expect([['operation'], ['model']]).toContainEqual(faultsOf({ operation: lacking }));
}

/** The contract of the domain `media`. */
export const mediaSuite: Suite<MediaAdapter, Port, MediaFixture> = {
  domain: 'media',
  hidesSignatures: true,
  open(providers, adapter, values) {
    return {
      providers,
      adapter,
      fresh() {
        providers.forget(adapter, null);
        return providers.mediaService(adapter, { orgId: null, values });
      },
    };
  },
  operations: OPERATIONS,
  hidden: (_operation, _fixture, input) => [(Object(input) as Asked).prompt ?? []].flat(),
  declared: ({ authType, status, rhythm }) => ({
    authType,
    ...(status !== 'active' && { status: status ?? 'preview' }),
    ...(rhythm && { rhythm }),
  }),
  breaks: isFirst,
  more: moreChecks,
};
