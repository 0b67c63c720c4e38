import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import { sound } from './_binary.ts';
import { media } from './_contract.ts';
import { listAt } from './_key-checks.ts';
import { operations, wholeText } from './_operations.ts';
import { regionField } from './_region.ts';

const TRANSCRIPT_BYTES = 8 * 1024 * 1024;
const Transcript = z
  .object({
    metadata: z.object({ duration: z.number() }),
    results: z.object({
      channels: z.array(z.object({ alternatives: z.array(z.object({ transcript: z.string() })).min(1) })).min(1),
      utterances: z.array(z.object({ start: z.number(), end: z.number(), transcript: z.string() })).optional(),
    }),
  })
  .transform(({ metadata: { duration }, results: { channels, utterances } }) => ({
    outputs: [],
    segments: utterances
      ? utterances.map(({ start, end, transcript }) => ({ from: start, to: end, text: transcript }))
      : wholeText(channels[0]!.alternatives[0]!.transcript, duration),
    usage: { seconds: duration },
  }));

const speech = { speech: { promptLength: 2_000 } };
const transcription = {
  transcription: { prompt: 'none', languages: true, sources: { kinds: ['audio', 'video'], min: 1, max: 1 } },
} as const;

/** https://developers.deepgram.com/reference; a model of speech is a voice. */
export default media({
  id: 'deepgram',
  version: 'v1',
  status: 'active',
  title: 'Deepgram',
  description: 'Transcriptions by Nova and speech by Aura.',
  website: 'https://deepgram.com',
  authType: 'api_key',
  credentials: {
    apiKey: secret('API key', { help: 'console.deepgram.com' }),
    region: regionField({ global: 'Global', eu: 'European Union' }),
  },
  api: 'https://api.deepgram.com',
  regions: { eu: 'https://api.eu.deepgram.com' },
  auth: { in: 'header', name: 'authorization', prefix: 'Token ', field: 'apiKey' },
  models: [
    { id: 'aura-2-thalia-en', operations: speech },
    { id: 'aura-2-zeus-en', operations: speech },
    { id: 'nova-3', operations: transcription },
    { id: 'nova-3-medical', operations: transcription },
  ],
  connect: (line) =>
    operations({
      speech: ({ model, prompt = '' }) =>
        sound(
          line,
          '/v1/speak',
          { query: { model: model!, encoding: 'mp3' }, json: { text: prompt } },
          { usage: { characters: prompt.length } },
        ),
      transcription: ({ model, language, sources: [file] }) =>
        line.large('/v1/listen', Transcript, {
          query: {
            model: model!,
            smart_format: 'true',
            utterances: 'true',
            ...(language === undefined ? { detect_language: 'true' } : { language }),
          },
          bytes: file!,
          answerBytes: TRANSCRIPT_BYTES,
          timeoutMs: OPERATION_MS.speech,
          creates: true,
        }),
    }),
  check: listAt('/v1/projects', 'projects'),
});
