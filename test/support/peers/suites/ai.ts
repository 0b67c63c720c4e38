// oxlint-disable max-lines -- one suite: each check of every brand of language models
import { expect } from '@jest/globals';
import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { type OutboundRequest, type Outbound, OutboundError } from '../../../../src/platform/outbound/index.ts';
import { openAi } from '../../../../src/providers/ai/_open.ts';
import { openLines } from '../../../../src/providers/kit/wire/open-line.ts';
import type { WebFetchLimits } from '../../../../src/providers/kit/wire/web-fetch.ts';
import type { Ai, AiAdapter, TextEvent, TextRequest } from '../../../../src/providers/registry/index.ts';
import type { AiFixture } from '../../../fixtures/providers/ai/_ai.ts';
import {
  ANSWER,
  OBJECT,
  objectQuestion,
  PICTURE,
  PIECES,
  PROMPT,
  question,
  VALUES,
} from '../../../fixtures/providers/ai/_ai.ts';
import { localProviders } from '../../worlds/providers.ts';
import { failureOf } from '../fake-network.ts';
import type { Case, Check, Says, Suite } from './provider.ts';
import { sharedWire } from './provider.ts';
import { addressChecks, keyChecks } from './setting-checks.ts';

/** The pieces of a stream, and its last event; one that says `done` twice, or goes on after it, is none. */
async function streamed(events: AsyncIterable<TextEvent>) {
  const pieces: string[] = [];
  let done: unknown;
  for await (const event of events) {
    expect(done).toBeUndefined();
    if (event.type === 'text') pieces.push(event.text);
    else {
      const { type: _, ...answer } = event;
      done = answer;
    }
  }
  return { pieces, done };
}

export const aiSuite: Suite<AiAdapter, Ai, AiFixture> = {
  domain: 'ai',
  serverError: 'unavailable',
  hidesSignatures: true,
  open: (providers, adapter, values) => providers.ai(adapter, { orgId: null, values }),
  declared: ({ facts }) => ({ kind: facts.kind }),
  operations: {
    text: (ai, request) => ai.text(request),
    stream: (ai, request) => streamed(ai.stream(request)),
    object: (ai, request) => ai.object(request),
    embed: (ai, request) => ai.embed!(request),
    models: (ai) => ai.models(),
    costOf: (ai, callId: string) => ai.costOf!(callId),
  },
  more: (adapter, fixture) => [
    ...coverage(adapter, fixture),
    ...keyChecks(aiSuite, adapter, fixture),
    ...streamChecks(adapter, fixture),
    silenceCheck(adapter, fixture),
    ...objectChecks(adapter, fixture),
    inputCheck(adapter, fixture),
    ...addressChecks(aiSuite, adapter, fixture, (ai) => ai.text(question(fixture.model))),
    ...wordsChecks(adapter, fixture),
  ],
};

const caseOf = (fixture: AiFixture, operation: string): Case =>
  fixture.cases.find((one) => one.operation === operation && one.name === undefined)!;

function coverage(adapter: AiAdapter, fixture: AiFixture): Check[] {
  const has = (operation: string, name?: string) =>
    fixture.cases.some((one) => one.operation === operation && (name === undefined || one.name === name));
  const known = (kind: string) => adapter.facts.kinds.some((one) => one === kind);
  return [
    {
      name: 'has facts for texts, streams, objects, and for pictures, embeddings and lists where it has those',
      run: async () => {
        expect(['text', 'stream', 'object', 'check'].filter((operation) => !has(operation))).toEqual([]);
        expect(has('text', 'with a picture')).toBe(known('vision'));
        expect(has('embed')).toBe(known('embedding'));
        expect(has('models')).toBe(adapter.listModels !== undefined);
      },
    },
    {
      name: 'has facts for an answer that is too long, and for one that was filtered where the provider tells of that',
      run: async () => {
        const ends = fixture.cases.map(({ result }) => (Object(result) as { end?: unknown }).end);
        expect(ends).toContain('length');
        expect(ends.includes('filter')).toBe(!fixture.unfiltered);
      },
    },
  ];
}

/** What an answer can do after its pieces: end, break off, say nothing any more; `mute`: it never begins. */
type Ending = 'end' | 'cut' | 'silence' | 'mute';
interface Upstream {
  outbound: Outbound;
  /** Requests as they came. */
  asked: string[];
  /** Requests that were given up. */
  given: number;
}
const abortOf = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
};
/** A provider at the end of the way out that says these pieces, one by one. */
function upstream(pieces: readonly Uint8Array[], ending: Ending, headers: Record<string, string>): Upstream {
  const refuse = () => Promise.reject(new Error('nothing else was to be asked'));
  const up: Upstream = { asked: [], given: 0, outbound: {} as Outbound };
  async function* body(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const over = () => new OutboundError('interrupted', 'The request was given up', { sent: true });
    for (const piece of pieces) {
      if (signal?.aborted) throw over();
      yield piece;
    }
    if (ending === 'cut') throw new OutboundError('interrupted', 'No answer: other side closed', { sent: true });
    if (ending === 'end') return;
    await abortOf(signal!);
    throw over();
  }
  up.outbound = {
    fetch: refuse,
    async stream(url: string, { signal }: OutboundRequest = {}) {
      up.asked.push(url);
      signal?.addEventListener('abort', () => void (up.given += 1), { once: true });
      if (ending === 'mute') {
        await abortOf(signal!);
        throw new OutboundError('interrupted', 'The request was given up', { sent: true });
      }
      const open = body(signal);
      return { status: 200, headers: new Headers(headers), url, body: open, cancel: () => void open.return(undefined) };
    },
    webSocket: () => {
      throw new Error('nothing else was to be asked');
    },
    judge: (url: string) => new URL(url),
    judgeResolved: (url: string) => Promise.resolve(new URL(url)),
    through: () => {
      throw new Error('nothing else was to be asked');
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as Outbound;
  return up;
}

/** The adapters of the domain with their facts. */
export async function aiFixtures(): Promise<[AiAdapter, AiFixture][]> {
  return Promise.all(
    localProviders()
      .list('ai')
      .map(async (adapter): Promise<[AiAdapter, AiFixture]> => {
        const { default: fixture } = (await import(`../../../fixtures/providers/ai/${adapter.id}.ts`)) as {
          default: AiFixture;
        };
        return [adapter, fixture];
      }),
  );
}

/** An adapter whose provider always says the same. */
export function openUpstream(
  adapter: AiAdapter,
  fixture: Pick<AiFixture, 'values'>,
  { json, text, bytes, headers = {} }: Says,
) {
  const body = bytes ?? Buffer.from(text ?? JSON.stringify(json));
  const up = upstream([body], 'end', { 'content-type': 'application/json', ...headers });
  const providers = localProviders({ outbound: up.outbound });
  const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
  return { up, ai: providers.ai(adapter, { orgId: null, values }) };
}

const bytesOf = (event: string | Uint8Array): Uint8Array => Buffer.from(event as string);
/** Divides bytes into so many parts, fewer where there are fewer bytes. */
function divided(bytes: Uint8Array, parts: number): Uint8Array[] {
  const borders = Array.from({ length: parts + 1 }, (_, n) => Math.floor((n * bytes.length) / parts));
  return borders.slice(1).flatMap((to, n) => (to > borders[n]! ? [bytes.subarray(borders[n], to)] : []));
}
const streamHeaders = ({ events }: AiFixture) => ({
  'content-type': events.every((event) => typeof event === 'string')
    ? 'text/event-stream'
    : 'application/vnd.amazon.eventstream',
});

function streamChecks(adapter: AiAdapter, fixture: AiFixture): Check[] {
  const { input, result } = caseOf(fixture, 'stream');
  const isText = fixture.events.every((event) => typeof event === 'string');
  const headers = streamHeaders(fixture);
  const spare = fixture.spareEvents ?? 0;
  const whole = Buffer.concat(fixture.events.map(bytesOf));
  const open = (up: Upstream) => {
    const providers = localProviders({ outbound: up.outbound });
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    return providers.ai(adapter, { orgId: null, values });
  };
  const play = async (pieces: readonly Uint8Array[], ending: Ending) => {
    const up = upstream(pieces, ending, headers);
    return {
      up,
      outcome: await streamed(open(up).stream(input as TextRequest)).catch((error: unknown) => ({ error })),
    };
  };
  /** A look-up after the answer is refused here, so that costs are those of the table. */
  const alike = expect.objectContaining({
    pieces: PIECES,
    done: expect.objectContaining({ text: ANSWER, end: 'stop' }),
  });
  const lost = { error: expect.objectContaining({ failure: 'lost' }) };

  return [
    {
      name: 'stream: is the same however it is divided: events together, in ten chunks each, a character cut in half',
      run: async () => {
        const events = fixture.events.map(bytesOf);
        const pairs = events.flatMap((_, at) => (at % 2 === 0 ? [Buffer.concat(events.slice(at, at + 2))] : []));
        const single = Array.from(whole, (byte) => Uint8Array.of(byte));
        const within = whole.indexOf('\u2600') + 1;
        expect(within).toBeGreaterThan(0);
        for (const pieces of [
          [whole],
          pairs,
          events.flatMap((event) => divided(event, 10)),
          [whole.subarray(0, within), whole.subarray(within)],
          single,
        ])
          expect((await play(pieces, 'end')).outcome).toEqual(alike);
        expect(result).toEqual(alike);
      },
    },
    {
      name: 'stream: an end or a cut after any event but the last is lost, and never done',
      run: async () => {
        for (let count = 0; count < fixture.events.length - spare; count += 1)
          for (const ending of ['end', 'cut'] as const) {
            const { outcome } = await play(fixture.events.slice(0, count).map(bytesOf), ending);
            expect([count, ending, outcome]).toEqual([count, ending, lost]);
          }
        const half = whole.subarray(0, bytesOf(fixture.events[0]!).length + 9);
        expect((await play([half], 'cut')).outcome).toEqual(lost);
      },
    },
    {
      name: 'stream: garbage in the place of an event is lost',
      run: async () => {
        const garbage = isText ? 'data: {"half":\n\n' : Uint8Array.of(0, 0, 0, 16, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9);
        const { outcome } = await play([fixture.events[0]!, garbage, ...fixture.events.slice(1)].map(bytesOf), 'end');
        expect(outcome).toEqual(lost);
      },
    },
    ...(fixture.statedEvents ?? []).map(({ event, failure }, at) => ({
      name: `stream: a failure that is stated in it (${at + 1}) is ${failure}, and lost once something was written`,
      run: async () => {
        expect((await play([bytesOf(event)], 'end')).outcome).toEqual({ error: expect.objectContaining({ failure }) });
        const begun = fixture.events.slice(0, fixture.events.length - spare - 1).map(bytesOf);
        const late = failure === 'rejected' || failure === 'reauthorize' ? failure : 'lost';
        expect((await play([...begun, bytesOf(event)], 'end')).outcome).toEqual({
          error: expect.objectContaining({ failure: late }),
        });
      },
    })),
    {
      name: fixture.countNeeded
        ? 'stream: is lost without its count, which its protocol cannot lack, and so never free'
        : 'stream: an answer without any count is whole, and its cost an estimate',
      run: async () => {
        const { outcome } = await play(fixture.uncounted.map(bytesOf), 'end');
        if (fixture.countNeeded) return void expect(outcome).toEqual(lost);
        expect(outcome).toMatchObject({ pieces: PIECES, done: { text: ANSWER, usage: {} } });
        const { cost } = (outcome as { done: { cost?: { source: string } } }).done;
        if (cost) expect(cost.source).toBe('estimate');
      },
    },
    {
      name: 'stream: the call ends at the provider when the reader leaves, and when the caller gives up',
      run: async () => {
        for (const leave of [true, false]) {
          const up = upstream(fixture.events.slice(0, -1 - spare).map(bytesOf), 'silence', headers);
          const gone = new AbortController();
          let read = 0;
          const reading = (async () => {
            for await (const event of open(up).stream(input as TextRequest, gone.signal)) {
              expect(event.type).toBe('text');
              read += 1;
              if (leave) break;
              gone.abort();
            }
          })();
          if (leave) await reading;
          else await expect(reading).rejects.toMatchObject({ code: 'unavailable' });
          await settled(() => up.given === 1);
          expect([up.asked.length, up.given]).toEqual([1, 1]);
          if (leave) expect(read).toBe(1);
        }
      },
    },
  ];
}

/** By which limits of time are divided, so that nobody waits for them. */
const HASTE = 1_000;
/** An adapter whose limits are short, and the limits as it names them. */
function openHasty(adapter: AiAdapter, fixture: AiFixture, outbound: Outbound) {
  const asked: WebFetchLimits[] = [];
  const lines = openLines({
    outbound,
    operatorOutbound: outbound,
    clock: systemClock,
    servers: {},
    authorities: [],
    timeoutMs: 20_000,
    folder: undefined,
    answersFolder: tmpdir(),
    onCall: () => undefined,
  });
  const open = openAi({
    ...lines,
    opened: (one, use, connect) =>
      lines.opened(one, use, (line) =>
        connect({
          ...line,
          webFetch(limits) {
            asked.push(limits);
            const { headMs, silenceMs } = limits;
            return line.webFetch({ ...limits, headMs: headMs / HASTE, silenceMs: silenceMs / HASTE });
          },
        }),
      ),
  });
  const values = localProviders({ outbound }).fields({ credentials: adapter.setup!.fields }, fixture.values);
  return { asked, ai: open(adapter, { orgId: null, values }) };
}

/** Whoever does not begin in a minute, or says nothing for half of one, is given up. */
function silenceCheck(adapter: AiAdapter, fixture: AiFixture): Check {
  const { input } = caseOf(fixture, 'stream');
  return {
    name: 'stream: is lost after a minute without a beginning, and after half a minute of silence; the call is ended',
    run: async () => {
      const spare = fixture.spareEvents ?? 0;
      const begun = fixture.events.slice(0, -1 - spare).map(bytesOf);
      for (const [pieces, ending] of [
        [[], 'mute'],
        [[], 'silence'],
        [begun, 'silence'],
      ] as const) {
        const up = upstream(pieces, ending, streamHeaders(fixture));
        const { asked, ai } = openHasty(adapter, fixture, up.outbound);
        expect(asked).toMatchObject([{ headMs: 60_000, silenceMs: 30_000 }]);
        const error = await failureOf(streamed(ai.stream(input as TextRequest)));
        expect([ending, error.failure, up.asked.length, up.given]).toEqual([ending, 'lost', 1, 1]);
      }
    },
  };
}

/** Lets what was asked for happen. */
async function settled(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !condition(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function objectChecks(adapter: AiAdapter, fixture: AiFixture): Check[] {
  const { exchanges } = caseOf(fixture, 'object');
  const [first, ...after] = exchanges;
  const again = { ...first!, asks: { ...first!.asks, json: expect.anything() } };
  const ask = async (...answers: readonly string[]) => {
    const wire = await sharedWire();
    await using providers = localProviders({ clock: systemClock, outbound: wire.outbound });
    const said = answers.map((text, at) => ({ ...(at === 0 ? first! : again), says: fixture.reply(text) }));
    wire.plays(said.flatMap((exchange) => [exchange, ...after]));
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    const answer = await providers.ai(adapter, { orgId: null, values }).object(objectQuestion(fixture.model));
    expect([wire.faults, wire.left]).toEqual([[], 0]);
    return answer;
  };
  const valid = JSON.stringify(OBJECT);
  const usage = (caseOf(fixture, 'object').result as { usage: { inputTokens?: number } }).usage;
  return [
    {
      name: 'object: is found among other words',
      run: async () => {
        const fenced = `Here you are:\n\`\`\`json\n${valid}\n\`\`\`\nEnjoy.`;
        expect(await ask(fenced)).toMatchObject({ object: OBJECT, end: 'stop' });
      },
    },
    {
      name: 'object: one of another form is asked for once more, and both are paid for',
      run: async () => {
        for (const wrong of ['{"tags":[],"more":1}', '{"tags":[', nested(1_000)]) {
          const answer = await ask(wrong, valid);
          expect(answer).toMatchObject({ object: OBJECT, end: 'stop' });
          expect(answer.usage.inputTokens).toBe(2 * usage.inputTokens!);
        }
      },
    },
    {
      name: 'object: one that is wrong twice is told as such, with what it cost',
      run: async () => {
        const answer = await ask('{"tags":[1]}', nested(20_000));
        expect([answer.object, answer.end, answer.usage.inputTokens]).toEqual([
          undefined,
          'other',
          2 * usage.inputTokens!,
        ]);
      },
    },
  ];
}
const nested = (levels: number): string => `{"tags":${'['.repeat(levels)}${']'.repeat(levels)}}`;

function inputCheck(adapter: AiAdapter, fixture: AiFixture): Check {
  const fine = question(fixture.model);
  const says = (text: string) => [{ role: 'user' as const, parts: [{ type: 'text' as const, text }] }];
  const picture = { type: 'image' as const, mediaType: 'image/png', bytes: PICTURE };
  const wrong: (readonly [string, string, Partial<TextRequest>])[] = [
    ['a model that is none', 'model', { model: 'a b' }],
    ['a model that leads elsewhere', 'model', { model: 'x/../../y' }],
    ['nothing to say', 'turns', { turns: says('  \n') }],
    ['no turns', 'turns', { turns: [] }],
    ['too much to say', 'turns', { turns: says('a'.repeat(2_000_001)) }],
    [
      'a last turn of the model',
      'turns',
      { turns: [...says('Hi'), { role: 'assistant', parts: says('Hi')[0]!.parts }] },
    ],
    ['no length', 'maxTokens', { maxTokens: 0 }],
    [
      'a picture of another kind',
      'turns.0.parts.0',
      { turns: [{ role: 'user', parts: [{ ...picture, mediaType: 'image/tiff' }] }] },
    ],
    [
      'an empty picture',
      'turns.0.parts.0',
      { turns: [{ role: 'user', parts: [{ ...picture, bytes: new Uint8Array() }] }] },
    ],
  ];
  const unable = adapter.models.find(({ kinds }) => kinds.includes('text') && !kinds.includes('vision'))?.id;
  if (unable !== undefined)
    wrong.push([
      'a picture for a model that sees none',
      'model',
      { model: unable, turns: [{ role: 'user', parts: [picture] }] },
    ]);
  const embedding = adapter.models.find(({ kinds }) => kinds.includes('embedding'))?.id;
  if (embedding !== undefined) wrong.push(['a question to a model of embeddings', 'model', { model: embedding }]);
  return {
    name: 'refuses bad input before it asks anybody, with the field at fault',
    run: async () => {
      const up = upstream([], 'end', {});
      const providers = localProviders({ outbound: up.outbound });
      const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
      const ai = providers.ai(adapter, { orgId: null, values });
      const fieldOf = (work: Promise<unknown>) =>
        work.then(
          () => 'was taken',
          (error: unknown) => (error as { extra: { errors: { field: string }[] } }).extra?.errors?.[0]?.field ?? error,
        );
      for (const [name, field, more] of wrong) {
        // a picture needs a model that could see it
        const model = adapter.models.find(({ kinds }) => kinds.includes('vision'))?.id ?? 'unknown-model';
        const request = { ...fine, ...(field.startsWith('turns.') && { model }), ...more };
        expect([name, await fieldOf(ai.text(request))]).toEqual([name, field]);
        expect([name, await fieldOf(streamed(ai.stream(request)))]).toEqual([name, field]);
      }
      if (ai.embed) {
        expect(await fieldOf(ai.embed({ model: embedding ?? 'e', values: [] }))).toBe('values');
        expect(await fieldOf(ai.embed({ model: embedding ?? 'e', values: ['one', ' '] }))).toBe('values.1');
        const chat = adapter.models.find(({ kinds }) => kinds.includes('text'))?.id;
        if (chat !== undefined) expect(await fieldOf(ai.embed({ model: chat, values: ['one'] }))).toBe('model');
      }
      expect(up.asked).toEqual([]);
    },
  };
}

/** The words of refusals: those of the provider are told, those of a person are not. */
function wordsChecks(adapter: AiAdapter, fixture: AiFixture): Check[] {
  const refused = async (operation: string, words: string) => {
    const wire = await sharedWire();
    await using providers = localProviders({ outbound: wire.outbound });
    const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
    const ai = providers.ai(adapter, { orgId: null, values });
    const { exchanges, input } = caseOf(fixture, operation);
    wire.plays(exchanges.slice(0, 1), { at: 0, answer: fixture.sentence(words) });
    const error = await failureOf(aiSuite.operations[operation]!(ai, input));
    expect([operation, error.failure]).toEqual([operation, 'rejected']);
    return error;
  };
  const operations = ['text', 'stream', 'object', 'embed'].filter((operation) => caseOf(fixture, operation));
  return [
    {
      name: 'shows nothing of a prompt that a refusal repeats',
      run: async () => {
        for (const operation of operations) {
          const said = operation === 'embed' ? VALUES.join('\n') : PROMPT;
          const error = await refused(operation, `We do not like "${said.slice(3, 50)}" at all`);
          expect(inspect(error, { depth: 9 })).not.toContain(said.slice(17, 29));
        }
      },
    },
    {
      name: adapter.terse
        ? 'keeps the sentence of a refusal, which may name rights of the account'
        : 'tells the sentence of a refusal',
      run: async () => {
        const sentence = 'Colours like mauve are not sold here';
        for (const operation of operations)
          expect([operation, (await refused(operation, sentence)).message.includes(sentence)]).toEqual([
            operation,
            !adapter.terse,
          ]);
      },
    },
  ];
}
