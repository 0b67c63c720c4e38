import {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
} from '../../../platform/outbound/index.ts';
import { ANSWER_BYTES } from '../declare/adapter.ts';
import { type AnswerFiles, openAnswerFiles } from './answer-files.ts';
import { type Large, type LargeFile, UNTYPED } from './large.ts';
import { parseLargeJson } from './large-json.ts';
import { type HttpOptions, openHttp } from './open-http.ts';

/** Greatest length of one answer with everything in it. */
const MOST_BYTES = 512 * 1024 * 1024;

export interface LargeOptions extends Omit<HttpOptions, 'outbound'> {
  outbound: Pick<Outbound, 'stream'>;
  /** The folder of the files. */
  folder: string;
}

/** Opens the tool `large`: `http` over answers that are read into files. */
export const openLarge =
  ({ outbound, folder, ...options }: LargeOptions): Large =>
  async (path, reply, { method = 'POST', ...call } = {}) => {
    const files = openAnswerFiles(folder);
    const http = openHttp({ ...options, outbound: { fetch: (url, request) => sent(outbound, files, url, request) } });
    try {
      const result = await (method === 'GET' ? http.get : http.post)(path, reply, call);
      await files.keep(result);
      return result;
    } catch (error) {
      await files.keep(undefined);
      throw error;
    }
  };

const interrupted = (cause: unknown) =>
  new OutboundError('interrupted', 'The answer is not whole', { cause, sent: true });

/** Sends a request, and answers its head with the value of the body, whose large parts are files. */
async function sent(
  outbound: Pick<Outbound, 'stream'>,
  files: AnswerFiles,
  url: string,
  request: OutboundRequest = {},
): Promise<OutboundAnswer> {
  const maxBytes = request.maxBytes ?? ANSWER_BYTES;
  const { status, headers, body, url: last, cancel } = await outbound.stream(url, { ...request, maxBytes: MOST_BYTES });
  const tooLarge = () => new OutboundError('too_large', `The answer is longer than ${maxBytes} bytes`, { sent: true });
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
  try {
    if (status < 300 && isFile(type)) {
      const file = await fileOf(body, files, type);
      return answerOf({ status, headers, url: last }, '', { value: { file } });
    }
    if (status < 300 && /[/+]json$/.test(type)) {
      const value = await parseLargeJson(body, files, { maxBytes, tooLarge });
      return answerOf({ status, headers, url: last }, '', { value });
    }
    return answerOf({ status, headers, url: last }, await textOf(body, maxBytes, tooLarge));
  } catch (error) {
    if (error instanceof SyntaxError) return answerOf({ status, headers, url: last }, 'not JSON');
    throw error instanceof OutboundError ? error : interrupted(error);
  } finally {
    cancel();
  }
}

const isFile = (type: string): boolean => /^(?:image|audio|video)\//.test(type) || type === UNTYPED;

async function fileOf(
  body: AsyncIterable<Uint8Array>,
  files: AnswerFiles,
  type: string,
): Promise<LargeFile | undefined> {
  const file = await files.begin(type);
  for await (const piece of body) await file.write(piece);
  const ended = await file.end();
  return ended.size === 0 ? undefined : ended;
}

async function textOf(body: AsyncIterable<Uint8Array>, maxBytes: number, tooLarge: () => Error): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    if ((length += piece.length) > maxBytes) throw tooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

const answerOf = (
  head: Pick<OutboundAnswer, 'status' | 'headers' | 'url'>,
  text: string,
  parsed?: { value: unknown },
): OutboundAnswer & { value?: unknown } => ({
  ...head,
  body: Buffer.from(text),
  text: () => text,
  json: () => JSON.parse(text) as unknown,
  ...parsed,
});
