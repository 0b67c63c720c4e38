import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import type { Body } from '../kit/declare/media.ts';
import { signAws } from '../kit/protocols/aws.ts';
import { inBase64, jsonBody } from '../kit/protocols/json-body.ts';
import { OPERATION_MS } from '../kit/wire/large.ts';
import { shaped } from './_account.ts';
import type { MediaDone } from './_calls.ts';
import { alike, media, type MediaLine, sentFiles } from './_contract.ts';
import { encoded, operations } from './_operations.ts';

const ratios = ['1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];
const image = { promptLength: 10_000, ratios };
const edit = { promptLength: 10_000, sources: sentFiles(1, 1, 'image') } as const;
/** How far an edit goes from its picture. */
const STRENGTH = 0.65;

const Made = z
  .object({ images: z.array(encoded('image', 'image/png')).min(1) })
  .transform(({ images }): MediaDone => ({ outputs: images, usage: { images: images.length } }));
const TYPE = 'x-amzn-errortype';
const Typed = z
  .object({ headers: z.object({ [TYPE]: z.string() }) })
  .transform(({ headers }) => headers[TYPE]!.split(':', 1)[0]);

type Keys = Readonly<Record<'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'region' | 'apiKey', string>>;
/** Signs a request, where there is no bearer key. */
const signed = async (clock: MediaLine['clock'], values: Keys, request: { method: string; url: string; body?: Body }) =>
  values.apiKey ? {} : signAws(values, { service: 'bedrock', now: clock.now(), ...request });

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-stability-diffusion.html; Nova has ended. */
export default media({
  id: 'bedrock',
  version: 'v1',
  status: 'active',
  title: 'Amazon Bedrock',
  description: 'Pictures by models of Stability AI in your own AWS account.',
  website: 'https://aws.amazon.com/bedrock/',
  authType: 'aws_sigv4',
  setupNotes:
    'Either a Bedrock API key, or the keys of a user with bedrock:InvokeModel and bedrock:ListFoundationModels.',
  credentials: {
    region: text('Region', {
      validation: '[a-z0-9-]{3,40}',
      default: 'us-west-2',
      help: 'The models are in us-west-2',
    }),
    apiKey: secret('Bedrock API key', { required: false, default: '', help: 'In place of the access key' }),
    accessKeyId: text('Access key id', { required: false, default: '', validation: '([A-Za-z0-9]{4,128})?' }),
    secretAccessKey: secret('Secret access key', { required: false, default: '' }),
    sessionToken: secret('Session token', { required: false, default: '', help: 'Of temporary credentials only' }),
  },
  api: 'https://bedrock-runtime.{region}.amazonaws.com',
  hosts: { control: 'https://bedrock.{region}.amazonaws.com' },
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey', host: 'control' },
  ],
  errors: { 424: 'unavailable' },
  errorHeaders: [TYPE],
  errorOf: Typed.pipe(
    z.enum(['ServiceQuotaExceededException', 'ExpiredTokenException', 'UnrecognizedClientException']),
  ).transform((type) => (type === 'ServiceQuotaExceededException' ? 'exhausted' : 'reauthorize')),
  // the filter answers with success, and says why in the place of each picture
  errorInside: shaped({ finish_reasons: z.array(z.string()).min(1) }, 'rejected'),
  hub: true,
  models: {
    'stability.stable-image-core-v1:1': { image },
    ...alike({ image, edit }, 'stability.stable-image-ultra-v1:1', 'stability.sd3-5-large-v1:0'),
  },
  connect(line) {
    const { base, large, values } = line;
    async function invoke(model: string | null, input: object): Promise<MediaDone> {
      const path = `/model/${encodeURIComponent(model!)}/invoke`;
      const body = jsonBody({ ...input, output_format: 'png' });
      const headers = await signed(line.clock, values, { method: 'POST', url: base + path, body });
      return large(path, Made, { bytes: body, headers, timeoutMs: OPERATION_MS.image, creates: true });
    }
    return operations({
      image: ({ model, prompt, ratio }) => invoke(model, { prompt, aspect_ratio: ratio }),
      edit: ({ model, prompt, sources: [picture] }) =>
        invoke(model, { prompt, mode: 'image-to-image', image: inBase64(picture!), strength: STRENGTH }),
    });
  },
  async check(line) {
    const { http, hosts, values } = line;
    const url = `${hosts['control']}/foundation-models?byOutputModality=IMAGE`;
    const headers = await signed(line.clock, values, { method: 'GET', url });
    const { modelSummaries } = await http.get(url, z.object({ modelSummaries: z.array(z.unknown()) }), { headers });
    return `The key is accepted; ${modelSummaries.length} models for pictures are offered in ${values.region}`;
  },
});
