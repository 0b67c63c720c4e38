// oxlint-disable max-lines -- one suite: each check of every brand of language models
import { expect } from '@jest/globals';
import { inspect } from 'node:util';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import {
  type OutboundRequest,
  type Outbound,
  OutboundError,
  openOutbound,
} from '../../../src/platform/outbound/index.ts';
import type { Ai, AiAdapter, TextEvent, TextRequest } from '../../../src/providers/registry/index.ts';
import type { AiFixture } from '../../fixtures/providers/ai/_ai.ts';
import { ANSWER, OBJECT, objectQuestion, PICTURE, PIECES, PROMPT, question } from '../../fixtures/providers/ai/_ai.ts';
import { localProviders } from '../worlds/providers.ts';
import { failureOf } from './fake-network.ts';
import type { Case, Check, Says, Suite } from './provider-suite.ts';
import { sharedWire } from './provider-suite.ts';

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
  open: (providers, adapter, values) => providers.ai(adapter, { orgId: null, values }),
  declared: ({ facts }) => ({ kind: facts.kind }),
  operations: {
    text: (ai, request) => ai.text(request),
    stream: (ai, request) => streamed(ai.stream(request)),
    object: (ai, request) => ai.object(request),
    embed: (ai, request) => ai.embed!(request),
    models: (ai) => ai.models(),
  },
  more: (adapter, fixture) => [
    ...coverage(adapter, fixture),
    ...streamChecks(adapter, fixture),
    ...objectChecks(adapter, fixture),
    ...inputChecks(adapter, fixture),
    quietCheck(adapter, fixture),
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
  ];
}

/** What a stream can do after its pieces: end, break off, say nothing any more. */
type Ending = 'end' | 'cut' | 'silence';
interface Upstream {
  outbound: Outbound;
  /** Requests as they came. */
  asked: string[];
  /** Requests that were given up. */
  given: number;
}
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
    if (!signal!.aborted) await new Promise((resolve) => signal!.addEventListener('abort', resolve, { once: true }));
    throw over();
  }
  up.outbound = {
    fetch: refuse,
    async stream(url: string, { signal }: OutboundRequest = {}) {
      up.asked.push(url);
      signal?.addEventListener('abort', () => void (up.given += 1), { once: true });
      const open = body(signal);
      return { status: 200, headers: new Headers(headers), url, body: open, cancel: () => void open.return(undefined) };
    },
    webSocket: () => {
      throw new Error('nothing else was to be asked');
    },
    judge: (url: string) => new URL(url),
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
        const { default: fixture } = (await import(`../../fixtures/providers/ai/${adapter.id}.ts`)) as {
          default: AiFixture;
        };
        return [adapter, fixture];
      }),
  );
}

/** An adapter whose provider always says the same. */
export function openUpstream(adapter: AiAdapter, fixture: AiFixture, { json, text, bytes, headers = {} }: Says) {
  const body = bytes ?? Buffer.from(text ?? JSON.stringify(json));
  const up = upstream([body], 'end', { 'content-type': 'application/json', ...headers });
  const providers = localProviders({ outbound: up.outbound });
  const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
  return { up, ai: providers.ai(adapter, { orgId: null, values }) };
}

const bytesOf = (event: string | Uint8Array): Uint8Array => Buffer.from(event as string);

function streamChecks(adapter: AiAdapter, fixture: AiFixture): Check[] {
  const { input, result } = caseOf(fixture, 'stream');
  const isText = fixture.events.every((event) => typeof event === 'string');
  const headers = { 'content-type': isText ? 'text/event-stream' : 'application/vnd.amazon.eventstream' };
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
      name: 'stream: is the same in one chunk, in single bytes, and when characters are cut in half',
      run: async () => {
        const single = Array.from(whole, (byte) => Uint8Array.of(byte));
        const halves = fixture.events.flatMap((event) => {
          const bytes = bytesOf(event);
          return [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)];
        });
        for (const pieces of [[whole], single, halves]) expect((await play(pieces, 'end')).outcome).toEqual(alike);
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
      name: 'stream: an answer without any count is whole, and its cost an estimate',
      run: async () => {
        if (!fixture.uncounted) return;
        const { outcome } = await play(fixture.uncounted.map(bytesOf), 'end');
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

function inputChecks(adapter: AiAdapter, fixture: AiFixture): Check[] {
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
  return [
    {
      name: 'refuses bad input before it asks anybody, with the field at fault',
      run: async () => {
        const up = upstream([], 'end', {});
        const providers = localProviders({ outbound: up.outbound });
        const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
        const ai = providers.ai(adapter, { orgId: null, values });
        const fieldOf = (work: Promise<unknown>) =>
          work.then(
            () => 'was taken',
            (error: unknown) =>
              (error as { extra: { errors: { field: string }[] } }).extra?.errors?.[0]?.field ?? error,
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
    },
    {
      name: 'asks no address of its own network, whatever the base URL',
      run: async () => {
        if (!('baseUrl' in adapter.credentials)) return;
        await using outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: [] });
        const providers = localProviders({ outbound });
        for (const baseUrl of [
          'http://models.example/v1',
          'https://127.0.0.1/v1',
          'https://10.1.2.3/v1',
          'https://169.254.169.254/v1',
          'https://[::1]/v1',
          'https://localhost/v1',
        ]) {
          const values = providers.fields({ credentials: adapter.setup!.fields }, { ...fixture.values, baseUrl });
          const error = await failureOf(providers.ai(adapter, { orgId: 'o', values }).text(fine));
          expect([baseUrl, error.failure, error.message]).toEqual([
            baseUrl,
            'rejected',
            expect.stringContaining('Blocked URL'),
          ]);
        }
      },
    },
  ];
}

/** Neither a refusal nor a failure in a stream shows what a person said. */
function quietCheck(adapter: AiAdapter, fixture: AiFixture): Check {
  return {
    name: 'shows nothing of a prompt that a refusal repeats',
    run: async () => {
      const wire = await sharedWire();
      await using providers = localProviders({ outbound: wire.outbound });
      const values = providers.fields({ credentials: adapter.setup!.fields }, fixture.values);
      const ai = providers.ai(adapter, { orgId: null, values });
      for (const operation of ['text', 'stream', 'object']) {
        const { exchanges, input } = caseOf(fixture, operation);
        const says = fixture.sentence(`We do not like "${PROMPT.slice(3, 50)}" at all`);
        wire.plays(exchanges.slice(0, 1), { at: 0, answer: says });
        const error = await failureOf(aiSuite.operations[operation]!(ai, input));
        expect(error.failure).toBe('rejected');
        expect(inspect(error, { depth: 9 })).not.toContain(PROMPT.slice(10, 40));
      }
    },
  };
}
