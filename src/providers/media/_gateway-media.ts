import { z } from 'zod';
import { inBase64, jsonBody } from '../kit/protocols/json-body.ts';
import { base64File, type LargeCall, OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaCalls, MediaDone, MediaHandle, MediaPolled, MediaRequest, SourceFile } from './_calls.ts';
import type { MediaLine } from './_contract.ts';
import { encoded, operations, outputOf, remote, wholeText, withCost } from './_operations.ts';

const COST = { at: ['providerMetadata', 'gateway', 'cost'], micros: 1_000_000 };
const SPECIFICATION = '4';
const PROTOCOL = '0.0.1';
/** It answers a repeated start with the first operation. Nobody says for how long: less than the day of others. */
const KEPT_MS = 3_600_000;
const TRANSCRIPT_BYTES = 8 * 1024 * 1024;
type Kind = 'image' | 'video' | 'speech' | 'transcription';
/** A call in the protocol of the gateway: the kind of model is in the path, the model in a header. */
const callOf = (kind: Kind, model: unknown, json: object): LargeCall => ({
  bytes: jsonBody(json),
  headers: {
    'ai-model-id': String(model),
    [`ai-${kind}-model-specification-version`]: SPECIFICATION,
    'ai-gateway-protocol-version': PROTOCOL,
    'ai-gateway-auth-method': 'api-key',
  },
});
const fileOf = (file: SourceFile) => ({ type: 'file', mediaType: file.contentType, data: inBase64(file) });
const paid = (answer: unknown, done: MediaDone): MediaDone => withCost(answer, COST, done);

const Pictures = z
  .looseObject({ images: z.array(encoded('image', 'image/png')).min(1) })
  .transform((answer) => paid(answer, { outputs: answer.images, usage: { images: answer.images.length } }));
const Sound = z.looseObject({ audio: encoded('audio', 'audio/mpeg') });
const Transcript = z.looseObject({
  text: z.string(),
  segments: z.array(z.object({ text: z.string(), startSecond: z.number(), endSecond: z.number() })).optional(),
  durationInSeconds: z.number().nullish(),
});
const Clip = z.union([
  z.object({ type: z.literal('url'), url: remote('video') }).transform(({ url }) => url),
  z
    .object({ type: z.literal('base64'), data: base64File('video/mp4'), mediaType: z.string().default('video/mp4') })
    .transform(({ data, mediaType }) => outputOf('video', { ...data, contentType: mediaType })),
]);
const Status = z.union([
  z.object({ status: z.literal('pending') }).transform((): MediaPolled => ({ state: 'running' })),
  z.looseObject({ status: z.literal('completed'), videos: z.array(Clip).min(1) }).transform((answer): MediaPolled => ({
    state: 'done',
    ...paid(answer, { outputs: answer.videos, usage: {} }),
  })),
  z
    .object({ status: z.enum(['error', 'cancelled']), error: z.string().default('') })
    .transform(({ error }): MediaPolled => ({
      state: 'failed',
      failure: /moderat|policy|safety/i.test(error) ? 'rejected' : 'unavailable',
      message: error,
    })),
]);

/** The calls of the gateway, in the protocol of its own library. */
export function gatewayMedia(line: MediaLine): MediaCalls {
  const drawn = ({ model, prompt, ratio, count = 1, sources }: MediaRequest) =>
    line.large('/v4/ai/image-model', Pictures, {
      ...callOf('image', model, {
        prompt,
        n: count,
        aspectRatio: ratio,
        ...(sources.length > 0 && { files: sources.map(fileOf) }),
      }),
      timeoutMs: OPERATION_MS.image,
      creates: true,
    });
  const atOnce = operations({
    image: drawn,
    edit: drawn,
    speech: ({ model, prompt = '', voice }) => spoken(line, model, prompt, voice),
    transcription: (request) => heard(line, request),
  });
  const startedVideo = async (
    { model, prompt, ratio, seconds, sources, key }: MediaRequest,
    more: Pick<LargeCall, 'creates'> = {},
  ): Promise<MediaHandle> => {
    const json = {
      prompt,
      n: 1,
      aspectRatio: ratio,
      duration: seconds,
      ...(sources[0] && { image: fileOf(sources[0]) }),
    };
    const { operation } = await line.large('/v4/ai/video-model/start', z.object({ operation: z.looseObject({}) }), {
      ...callOf('video', model, json),
      idempotencyKey: key,
      timeoutMs: OPERATION_MS.submit,
      ...more,
    });
    return { operation: JSON.stringify(operation), model };
  };
  return {
    start: async (request) =>
      request.operation === 'video'
        ? { state: 'running', handle: await startedVideo(request, { creates: true }) }
        : atOnce.start(request),
    find: async (request, since) =>
      request.operation === 'video' && line.clock.now().getTime() - since.getTime() <= KEPT_MS
        ? startedVideo(request)
        : undefined,
    poll: ({ operation, model }) =>
      line.large('/v4/ai/video-model/status', Status, {
        ...callOf('video', model, { operation: JSON.parse(String(operation)) as unknown }),
        timeoutMs: OPERATION_MS.submit,
      }),
  };
}

async function spoken({ large }: MediaLine, model: string | null, text: string, voice: string | undefined) {
  const answer = await large('/v4/ai/speech-model', Sound, {
    ...callOf('speech', model, { text, voice, outputFormat: 'mp3' }),
    timeoutMs: OPERATION_MS.speech,
    creates: true,
  });
  return paid(answer, { outputs: [answer.audio], usage: { characters: text.length } });
}

async function heard({ large }: MediaLine, { model, sources: [file] }: MediaRequest) {
  const answer = await large('/v4/ai/transcription-model', Transcript, {
    ...callOf('transcription', model, { audio: inBase64(file!), mediaType: file!.contentType }),
    answerBytes: TRANSCRIPT_BYTES,
    timeoutMs: OPERATION_MS.speech,
    creates: true,
  });
  const segments = answer.segments?.map(({ text, startSecond, endSecond }) => ({
    from: startSecond,
    to: endSecond,
    text,
  }));
  const length = answer.durationInSeconds || file!.seconds; // nothing: it was not measured
  return paid(answer, {
    outputs: [],
    segments: segments?.length ? segments : wholeText(answer.text, length),
    usage: length === undefined ? {} : { seconds: length },
  });
}
