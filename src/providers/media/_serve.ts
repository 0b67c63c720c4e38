import { outsideLine, storableJson } from '../../platform/content/index.ts';
import { ProviderError } from '../../platform/kernel/index.ts';
import { OutboundError } from '../../platform/outbound/index.ts';
import { type Cost, microsOf, type Price, type CallUsage } from '../kit/declare/cost.ts';
import { redactor, unsigned } from '../kit/declare/redact.ts';
import { credentialsOf, credentialText } from '../kit/wire/credentials.ts';
import { secretsOf } from '../kit/wire/open-line.ts';
import type { MediaDone, MediaHandle, MediaOutput, MediaPolled, MediaService } from './_calls.ts';
import type { MediaAdapter, MediaLine, Takes } from './_contract.ts';
import { checkMediaRequest, mostPaidSeconds, takesOf } from './_limits.ts';
import { mediaPriceOf } from './_prices.ts';

const MOST_REDIRECTS = 3;
const MOST_WORDS = 300;
/** Where a handle names the model, by which the price of the result is known. */
const MODEL = 'model';

/** The units of prices and what counts them. */
const UNITS = [
  ['input', 'inputTokens'],
  ['output', 'outputTokens'],
  ['perImage', 'images'],
  ['perSecond', 'seconds'],
  ['characters', 'characters'],
] as const;
/** No picture that an operation starts from makes more tokens. */
const PICTURE_TOKENS = 8_000;
const HAN = /\p{Script=Han}/gu;
/** The characters of a text as its price counts them. */
function charactersOf(text: string, counted: Takes['counted']): number {
  if (counted === 'bytes') return Buffer.byteLength(text);
  return text.length + (counted === 'han twice' ? (text.match(HAN) ?? []).length : 0);
}

/** Nobody knows before how many tokens an output has: beside their price stands the most that one piece costs. */
const isBounded = ({ output, perImage, perSecond, characters }: Price): boolean =>
  !output || [perImage, perSecond, characters].some((most) => most !== undefined);

/**
 * Answers what a result costs: by tokens alone where they have a price and are counted. Undefined where the answer does
 * not count all that the price is made of: then the estimate stands, and nothing becomes free.
 */
function costOf(price: Price, usage: CallUsage): Cost | undefined {
  const hasTokens = usage.inputTokens !== undefined && usage.outputTokens !== undefined;
  const isByTokens = hasTokens && (price.input || price.output);
  const paid: Price = isByTokens ? { ...price, perImage: 0, perSecond: 0, characters: 0 } : price;
  const isCounted = UNITS.every(([unit, count]) => !paid[unit] || usage[count] !== undefined);
  return isCounted ? { micros: microsOf(paid, usage), source: 'price_table' } : undefined;
}

/** Completes the calls of an adapter: costs by price, estimates, clean words, and the bytes of outputs. */
export function serveMedia(adapter: MediaAdapter, line: MediaLine, own: Readonly<Record<string, Price>>): MediaService {
  const { start, poll, find, cancel, tools } = adapter.connect(line);
  const clean = (text: string, prompt?: string) =>
    outsideLine(unsigned(redactor([...secretsOf(adapter, line.values), prompt])(text)), MOST_WORDS);
  const priceOf = (name: string) => own[name] ?? mediaPriceOf(adapter.id, name);

  /** Adds the cost by what was used, where the answer counts it. Words are made such that a database takes them. */
  function priced<T extends MediaDone>(done: T, name: string): T {
    const price = done.cost ? undefined : priceOf(name);
    const cost = price && costOf(price, done.usage);
    const outputs = done.outputs.map((one) => ('open' in one ? one : storableJson(one)));
    const storable = { ...done, outputs, ...(done.segments && { segments: storableJson(done.segments) }) };
    return cost ? { ...storable, cost } : storable;
  }
  /** The price of estimates: the owner's, with the most of the table where it has none of its own. */
  function boundOf(name: string): Price | undefined {
    const price = priceOf(name);
    if (!price || isBounded(price)) return price;
    const known = mediaPriceOf(adapter.id, name);
    return known && { ...known, ...price };
  }
  /** Removes the prompt and signatures from failures; those of the fields are removed already. */
  async function cleanly<T>(work: Promise<T>, prompt?: string): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const message = error instanceof ProviderError ? unsigned(redactor([prompt])(error.message)) : undefined;
      if (!(error instanceof ProviderError) || message === error.message) throw error;
      throw new ProviderError(error.failure, message!, { retryAfterMs: error.retryAfterMs });
    }
  }
  const named = (handle: MediaHandle, name: string): MediaHandle => storableJson({ ...handle, [MODEL]: name });
  const nameOf = (handle: MediaHandle): string => String(handle[MODEL]);

  async function polled(handle: MediaHandle, prompt?: string): Promise<MediaPolled> {
    const answer = await poll!(handle);
    if (answer.state === 'done') return priced(answer, nameOf(handle));
    if (answer.state === 'running') return answer;
    return { ...answer, message: clean(answer.message, prompt) };
  }

  return {
    async start(request, signal) {
      checkMediaRequest(adapter, request);
      const name = request.model ?? request.operation;
      const started = await cleanly(start(request, signal), request.prompt);
      return started.state === 'done' ? priced(started, name) : { ...started, handle: named(started.handle, name) };
    },
    ...(poll && { poll: (handle: MediaHandle, prompt?: string) => cleanly(polled(handle, prompt), prompt) }),
    ...(cancel && { cancel: (handle: MediaHandle) => cleanly(cancel(handle)) }),
    ...(find && {
      async find(request, since) {
        const found = await cleanly(find(request, since), request.prompt);
        return found && named(found, request.model ?? request.operation);
      },
    }),
    ...(tools && { tools }),
    estimate({ operation, model, prompt = '', seconds: asked, count = 1, sources = [] }): Cost | undefined {
      const price = boundOf(model ?? operation);
      if (!price) return undefined;
      const takes = takesOf(adapter, operation, model);
      const pictures = sources.filter(({ kind }) => kind === 'image').length;
      const usage = {
        inputTokens: Buffer.byteLength(prompt) + pictures * PICTURE_TOKENS, // no tokenizer makes more of a text
        characters: charactersOf(prompt, takes?.counted),
        seconds: mostPaidSeconds(takes, asked, sources) * count,
        images: count,
      };
      return { micros: microsOf(price, usage), source: 'estimate' };
    },
    async download(output) {
      if ('open' in output)
        return {
          contentType: output.contentType,
          bytes: output.size,
          body: output.open(),
          cancel: () => void output.discard(),
        };
      const { status, headers, body, cancel: leave } = await opened(adapter, line, output);
      if (status === 200)
        return {
          contentType: headers.get('content-type') ?? undefined,
          bytes: Number(headers.get('content-length')) || undefined,
          body,
          cancel: leave,
        };
      leave();
      const kept = adapter.rhythm?.keptMs;
      const forMinutes = kept === undefined ? '' : `, which it keeps for ${Math.round(kept / 60_000)} minutes`;
      throw new ProviderError(
        status >= 500 || status === 429 ? 'unavailable' : 'rejected',
        `${adapter.title} no longer has the result (${status})${forMinutes}`,
      );
    },
  };
}

/** Opens the address of an output, through the guard at each redirect. The key goes to the provider's own host only. */
async function opened(adapter: MediaAdapter, line: MediaLine, { url, withKey }: Extract<MediaOutput, { url: string }>) {
  const key = Object.fromEntries(
    credentialsOf(adapter.auth).flatMap((auth) => {
      const text =
        auth.in === 'header' &&
        !auth.host &&
        credentialText(auth, { values: line.values, token: undefined, app: undefined });
      return text ? [[(auth as { name: string }).name, text]] : [];
    }),
  );
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const isOwn = URL.parse(at)?.origin === new URL(line.base).origin;
    const answer = await streamed(line, at, withKey && isOwn ? { headers: key } : {}).catch((error: unknown) => {
      throw downloadFault(adapter, error);
    });
    const location = answer.status >= 300 && answer.status < 400 ? answer.headers.get('location') : null;
    if (location === null || redirects === MOST_REDIRECTS) return answer;
    answer.cancel();
    at = URL.parse(location, at)?.href ?? location;
  }
}

/** Some results are named without encryption and served with it as well: then that one is asked for. */
async function streamed({ stream }: MediaLine, url: string, call: Parameters<MediaLine['stream']>[1]) {
  try {
    return await stream(url, call);
  } catch (error) {
    const isBlocked = error instanceof OutboundError && error.failure === 'blocked';
    if (!isBlocked || !url.startsWith('http:')) throw error;
    return stream(url.replace('http:', 'https:'), call);
  }
}

function downloadFault({ title }: MediaAdapter, error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error;
  const final = error.failure === 'invalid' || error.failure === 'blocked';
  return final
    ? new ProviderError('rejected', `${title} names an address of the result that may not be asked`)
    : new ProviderError('unavailable', `The result of ${title} could not be fetched`);
}
