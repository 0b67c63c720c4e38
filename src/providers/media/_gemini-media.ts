import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { CallUsage } from '../kit/declare/cost.ts';
import { refused } from '../kit/declare/fallback.ts';
import { inBase64, jsonBody } from '../kit/protocols/json-body.ts';
import { wavOf } from '../kit/protocols/wav.ts';
import { base64File, type LargeCall, OPERATION_MS, UNTYPED } from '../kit/wire/large.ts';
import type { MediaCalls, MediaDone, MediaHandle, MediaPolled, MediaRequest, SourceFile } from './_calls.ts';
import type { MediaLine } from './_contract.ts';
import { operations, outputOf, remote } from './_operations.ts';

// Gemini makes pictures and speech as answers to a conversation, and videos as operations that are asked for. Google
// serves it by two APIs, which differ in their addresses, in files beside a prompt, and in where videos are.

export interface Gemini {
  /** Adds credentials that are made for a call. */
  signed?(call: LargeCall): Promise<LargeCall>;
  /** A picture beside the prompt of a video. */
  frame(file: SourceFile): object;
  /** The question for an operation, by its name. */
  question(handle: MediaHandle): LargeCall & { path: string };
}

const Inline = z
  .object({ inlineData: z.object({ mimeType: z.string(), data: base64File(UNTYPED) }) })
  .transform(({ inlineData: { mimeType, data } }) => ({ ...data, contentType: mimeType }));
const Count = z.number().nonnegative().optional();
const Tokens = z
  .object({
    promptTokenCount: Count,
    candidatesTokenCount: Count,
    thoughtsTokenCount: Count,
    cachedContentTokenCount: Count,
  })
  .transform(
    ({ promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0, cachedContentTokenCount }): CallUsage => ({
      ...(promptTokenCount !== undefined && { inputTokens: promptTokenCount }),
      outputTokens: candidatesTokenCount + thoughtsTokenCount,
      ...(cachedContentTokenCount !== undefined && { cachedTokens: cachedContentTokenCount }),
    }),
  );
const Answer = z
  .object({
    candidates: z
      .array(
        z.object({
          content: z.object({ parts: z.array(z.unknown()).optional() }).optional(),
          finishReason: z.string().optional(),
        }),
      )
      .optional(),
    promptFeedback: z.object({ blockReason: z.string().optional() }).optional(),
    usageMetadata: Tokens.optional().catch(undefined),
  })
  .transform(({ candidates = [], promptFeedback, usageMetadata: usage = {} }, context) => {
    const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
    const files = parts.flatMap((part) => Inline.safeParse(part).data ?? []);
    if (files.length > 0) return { files, usage };
    const reason = promptFeedback?.blockReason ?? candidates[0]?.finishReason;
    if (reason !== undefined) throw refused('rejected', `Google made nothing of this: ${reason}`);
    context.addIssue({ code: 'custom', message: 'has no file', path: ['candidates'] });
    return z.NEVER;
  });

const inlineOf = (file: SourceFile) => ({ inlineData: { mimeType: file.contentType, data: inBase64(file) } });
const SAMPLES_PER_SECOND = 24_000;

const Operation = z.object({
  name: z.string(),
  done: z.boolean().optional(),
  error: z.object({ code: z.number().optional(), message: z.string().catch('') }).optional(),
  response: z.unknown().optional(),
});
const Clips = z.union([
  z
    .object({
      generateVideoResponse: z.object({
        generatedSamples: z.array(z.object({ video: z.object({ uri: remote('video') }) })).min(1),
      }),
    })
    .transform(({ generateVideoResponse }) =>
      generateVideoResponse.generatedSamples.map(({ video }) => ({ ...video.uri, withKey: true as const })),
    ),
  z
    .object({ videos: z.array(z.object({ bytesBase64Encoded: base64File('video/mp4') })).min(1) })
    .transform(({ videos }) => videos.map((clip) => outputOf('video', clip.bytesBase64Encoded))),
]);
const Filter = z
  .union([
    z.object({ raiMediaFilteredReasons: z.array(z.string()) }),
    z
      .object({ generateVideoResponse: z.object({ raiMediaFilteredReasons: z.array(z.string()) }) })
      .transform(({ generateVideoResponse }) => generateVideoResponse),
  ])
  .transform(({ raiMediaFilteredReasons }) => raiMediaFilteredReasons.join(' '));
/** Codes of an operation's error (google.rpc.Code). */
const CODES: Readonly<Record<number, ProviderFailure>> = {
  3: 'rejected',
  7: 'reauthorize',
  8: 'exhausted',
  9: 'rejected',
  16: 'reauthorize',
};

const Polled = Operation.transform(({ done, error, response }, context): MediaPolled => {
  if (!done) return { state: 'running' };
  if (error) return { state: 'failed', failure: CODES[error.code ?? 0] ?? 'unavailable', message: error.message };
  const clips = Clips.safeParse(response).data;
  if (clips) return { state: 'done', outputs: clips, usage: {} };
  const filtered = Filter.safeParse(response).data;
  if (filtered !== undefined) return { state: 'failed', failure: 'rejected', message: filtered };
  context.addIssue({ code: 'custom', message: 'has no video', path: ['response'] });
  return z.NEVER;
});

/** Joins the operations of Gemini and Veo. */
export function geminiMedia(
  { large }: MediaLine,
  { signed = async (call) => call, frame, question }: Gemini,
): MediaCalls {
  async function generate({ model, prompt, sources }: MediaRequest, generationConfig: object, timeoutMs: number) {
    const parts = [...(prompt === undefined ? [] : [{ text: prompt }]), ...sources.map(inlineOf)];
    const body = jsonBody({ contents: [{ role: 'user', parts }], generationConfig });
    const call = await signed({ bytes: body, timeoutMs, creates: true });
    return large(`/models/${model}:generateContent`, Answer, call);
  }
  async function drawn(request: MediaRequest): Promise<MediaDone> {
    const config = {
      responseModalities: ['IMAGE'],
      ...(request.ratio && { imageConfig: { aspectRatio: request.ratio } }),
    };
    const { files, usage } = await generate(request, config, OPERATION_MS.image);
    return { outputs: files.map((file) => outputOf('image', file)), usage };
  }
  const calls = operations({
    image: drawn,
    edit: drawn,
    async speech({ voice = 'Kore', ...request }) {
      const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } };
      const { files, usage } = await generate(
        request,
        { responseModalities: ['AUDIO'], speechConfig },
        OPERATION_MS.speech,
      );
      const sounds = files.map((file) => {
        const rate = /rate=(\d+)/.exec(file.contentType)?.[1];
        return /^audio\/(?:L16|pcm)/i.test(file.contentType)
          ? wavOf(file, rate ? Number(rate) : SAMPLES_PER_SECOND)
          : file;
      });
      return { outputs: sounds.map((sound) => outputOf('audio', sound)), usage };
    },
  });
  return {
    async start(request) {
      if (request.operation !== 'video') return calls.start(request);
      const { model, prompt, ratio, seconds, sources } = request;
      const instance = { prompt, ...(sources[0] && { image: frame(sources[0]) }) };
      const body = jsonBody({
        instances: [instance],
        parameters: { aspectRatio: ratio, durationSeconds: seconds, sampleCount: 1 },
      });
      const call = await signed({ bytes: body, timeoutMs: OPERATION_MS.submit, creates: true });
      const { name } = await large(`/models/${model}:predictLongRunning`, z.object({ name: z.string().min(1) }), call);
      return { state: 'running', handle: { name, model, seconds: seconds ?? null } };
    },
    async poll(handle) {
      const { path, ...call } = question(handle);
      const polled = await large(path, Polled, await signed({ timeoutMs: OPERATION_MS.submit, ...call }));
      const { seconds } = handle;
      return polled.state === 'done' && typeof seconds === 'number' ? { ...polled, usage: { seconds } } : polled;
    },
  };
}
