import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { inBase64 } from '../kit/protocols/json-body.ts';
import { keyFileFault, serviceAccountToken } from '../kit/protocols/service-account.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaDone } from './_calls.ts';
import { alike, media } from './_contract.ts';
import { geminiMedia } from './_gemini-media.ts';
import { DRAWING, FILMING, googleErrorOf } from './_google.ts';
import { encoded } from './_operations.ts';

const TOKENS = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const Spoken = z.object({ audioContent: encoded('audio', 'audio/mpeg') });
const Played = z.object({
  predictions: z.array(z.object({ bytesBase64Encoded: encoded('audio', 'audio/wav') })).min(1),
});

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs; speech is a separate API of the same project. */
export default media({
  id: 'vertex',
  version: 'v1',
  status: 'active',
  title: 'Google Vertex AI',
  description: 'Pictures by Gemini, videos by Veo, music by Lyria and speech by Chirp in your own project.',
  website: 'https://cloud.google.com/vertex-ai',
  authType: 'service_account',
  setupNotes: 'The service account needs the role Vertex AI User; speech needs the Cloud Text-to-Speech API enabled.',
  credentials: {
    project: text('Project id', { validation: '[a-z][a-z0-9-]{4,29}' }),
    region: text('Location', {
      validation: '[a-z0-9-]{2,40}',
      default: 'us-central1',
      help: 'us-central1 for videos and music',
    }),
    serviceAccountJson: secret('Service account key (JSON)', { maxLength: 10_000, fault: keyFileFault }),
  },
  api: 'https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/google',
  regions: { global: 'https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/publishers/google' },
  hosts: { speech: 'https://texttospeech.googleapis.com/v1', tokens: TOKENS },
  errorOf: googleErrorOf,
  hub: true,
  models: {
    'gemini-3.1-flash-image': DRAWING,
    ...alike(FILMING, 'veo-3.1-generate-001', 'veo-3.1-fast-generate-001'),
    'lyria-002': { music: {} },
    'chirp-3-hd': { speech: { promptLength: 5_000, voices: 'any', languages: true } },
  },
  rhythm: { everyMs: 10_000, mostMs: 1_800_000, keptMs: 172_800_000 },
  connect(line) {
    const { hosts, large, values } = line;
    const token = serviceAccountToken(line, {
      json: values.serviceAccountJson,
      address: hosts['tokens']!,
      scope: SCOPE,
    });
    const signed = async <C extends object>(call: C) => ({
      ...call,
      headers: { authorization: `Bearer ${await token()}` },
    });
    const calls = geminiMedia(line, {
      signed,
      frame: (file) => ({ mimeType: file.contentType, bytesBase64Encoded: inBase64(file) }),
      question: ({ name, model }) => ({
        path: `/models/${model}:fetchPredictOperation`,
        json: { operationName: name },
      }),
    });
    async function spoken(prompt = '', voice = 'Charon', language = 'en-US'): Promise<MediaDone> {
      const json = {
        input: { text: prompt },
        voice: { languageCode: language, name: `${language}-Chirp3-HD-${voice}` },
        audioConfig: { audioEncoding: 'MP3' },
      };
      const call = await signed({ json, timeoutMs: OPERATION_MS.speech, creates: true as const });
      const { audioContent } = await large(`${hosts['speech']}/text:synthesize`, Spoken, call);
      return { outputs: [audioContent], usage: { characters: prompt.length } };
    }
    async function played({ model, prompt }: { model: string | null; prompt?: string }): Promise<MediaDone> {
      const json = { instances: [{ prompt }], parameters: {} };
      const call = await signed({ json, timeoutMs: OPERATION_MS.image, creates: true as const });
      const { predictions } = await large(`/models/${model}:predict`, Played, call);
      return { outputs: predictions.map((one) => one.bytesBase64Encoded), usage: {} };
    }
    return {
      ...calls,
      async start(request) {
        if (request.operation === 'music') return { state: 'done', ...(await played(request)) };
        if (request.operation !== 'speech') return calls.start(request);
        return { state: 'done', ...(await spoken(request.prompt, request.voice, request.language)) };
      },
    };
  },
  async check({ base, http, hosts, values, clock, hide }) {
    const token = serviceAccountToken(
      { http, clock, hide },
      { json: values.serviceAccountJson, address: hosts['tokens']!, scope: SCOPE },
    );
    const counted = z.object({ totalTokens: z.number() });
    await http.post(`${base}/models/gemini-3.1-flash-image:countTokens`, counted, {
      json: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
      headers: { authorization: `Bearer ${await token()}` },
    });
    return 'The key is accepted, and the project may be asked';
  },
});
