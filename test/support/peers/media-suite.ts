import { expect } from '@jest/globals';
import { AppError, systemClock } from '../../../src/platform/kernel/index.ts';
import { PROMPT_LENGTH } from '../../../src/providers/media/_limits.ts';
import { refused } from '../../../src/providers/kit/declare/fallback.ts';
import {
  checkMediaRequest,
  MEDIA_OPERATIONS,
  type MediaAdapter,
  type MediaHandle,
  type MediaOperation,
  type MediaOutput,
  type MediaRequest,
  type MediaService,
  type SourceFile,
  takesOf,
} from '../../../src/providers/registry/index.ts';
import { localProviders } from '../worlds/providers.ts';
import type { Instead } from '../wire/wire.ts';
import {
  type Case,
  type Check,
  type LocalProviders,
  type ProviderFixture,
  sharedWire,
  type Suite,
} from './provider-suite.ts';

export type { Asks, Case, Exchange, Refusal, Says } from './provider-suite.ts';

/**
 * What a provider of media answers, written from its documents. A case has the name of an operation and a request: it
 * is started, and polled by connections that know nothing but the stored handle, until it ends. Further cases are
 * `cancel` (of a handle), `find` (of a request), `tools` (by name), `download` (of an output) and `check`.
 */
export type MediaFixture = ProviderFixture;
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
export const sound = fileOf('audio', 'voice.mp3', 'audio/mpeg');

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

/** Starts an operation and polls it to its end; a failed one throws, as a refused call does. */
async function ran({ fresh }: Port, operation: MediaOperation, asked: Asked) {
  const started = await fresh().start(requestOf(operation, asked));
  const progress: number[] = [];
  let done = started.state === 'done' ? started : undefined;
  for (let polls = 0; started.state === 'running' && !done && polls < MOST_POLLS; polls += 1) {
    const polled = await fresh().poll!(stored(started.handle), asked.prompt);
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

type Operations = Suite<MediaAdapter, Port>['operations'];
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

  /** A case on the wire with other exchanges, and the way in which it fails. */
  async function failing(one: Case, exchanges: Case['exchanges'], instead?: { at: number; answer: Instead }) {
    const wire = await sharedWire();
    const clock = { ...systemClock, now: () => NOW, sleep: async () => {} };
    await using providers = localProviders({ clock, outbound: wire.outbound });
    wire.plays(exchanges, instead);
    const values = providers.fields({ credentials: adapter.setup!.fields }, { ...fixture.values, ...one.values });
    const port = mediaSuite.open(providers, adapter, values, fixture);
    const work =
      one.operation === 'check' ? providers.check(adapter, values)! : OPERATIONS[one.operation]!(port, one.input);
    const [outcome] = await Promise.allSettled([work]);
    const failure =
      outcome.status === 'fulfilled' ? undefined : ((outcome.reason as { failure?: string }).failure ?? 'unknown');
    return { failure, asked: [...wire.asked], faults: [...wire.faults] };
  }

  add('has a fixture for everything that its connection offers', async () => {
    await using providers = localProviders();
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    const { cancel, find, poll, tools = {} } = providers.mediaService(adapter, { orgId: null, values });
    const shown = fixture.cases.map(({ operation, input }) =>
      operation === 'tools' ? `tools.${input as string}` : operation,
    );
    const offered = [
      ...(cancel ? ['cancel'] : []),
      ...(find ? ['find'] : []),
      ...Object.keys(tools).map((name) => `tools.${name}`),
    ];
    expect(offered.filter((name) => !shown.includes(name))).toEqual([]);
    const polled = startsOf(fixture).some(({ exchanges }) => exchanges.length > 1);
    if (poll) expect(polled).toBe(true);
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

  const check = fixture.cases.find(({ operation, values }) => operation === 'check' && !values);
  if (check)
    add('check: notices a key that is refused', async () => {
      const { failure } = await failing(check, check.exchanges, {
        at: 0,
        answer: { status: 401, json: { message: 'No' } },
      });
      expect(failure).toBe('reauthorize');
    });
  return checks;
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
export const mediaSuite: Suite<MediaAdapter, Port> = {
  domain: 'media',
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
