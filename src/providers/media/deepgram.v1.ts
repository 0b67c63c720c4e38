import { z } from 'zod';
import { keyIn, listAt, regionField } from './_account.ts';
import { sound } from './_binary.ts';
import { alike, media, ONE_SOUND } from './_contract.ts';
import { operations, transcribed, wholeText } from './_operations.ts';

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

/** https://developers.deepgram.com/reference; a model of speech is a voice. */
export default media({
  id: 'deepgram',
  version: 'v1',
  status: 'active',
  title: 'Deepgram',
  description: 'Transcriptions by Nova and speech by Aura.',
  website: 'https://deepgram.com',
  api: 'https://api.deepgram.com',
  regions: { eu: 'https://api.eu.deepgram.com' },
  ...keyIn({ name: 'authorization', prefix: 'Token ' }, 'console.deepgram.com', {
    fields: { region: regionField({ global: 'Global', eu: 'European Union' }) },
  }),
  models: {
    ...alike({ speech: { promptLength: 2_000 } }, 'aura-2-thalia-en', 'aura-2-zeus-en'),
    ...alike({ transcription: ONE_SOUND }, 'nova-3', 'nova-3-medical'),
  },
  connect: (line) =>
    operations({
      speech: sound(line, ({ model, prompt = '' }) => ({
        path: '/v1/speak',
        query: { model: model!, encoding: 'mp3' },
        json: { text: prompt },
        usage: { characters: prompt.length },
      })),
      transcription: ({ model, language, sources: [file] }) =>
        transcribed(line, '/v1/listen', Transcript, {
          query: {
            model: model!,
            smart_format: 'true',
            utterances: 'true',
            ...(language === undefined ? { detect_language: 'true' } : { language }),
          },
          bytes: file!,
        }),
    }),
  check: listAt('/v1/projects', 'projects'),
});
