import { z } from 'zod';
import { type FailureByCode, FailureWord } from '../kit/declare/failures.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { signAws } from '../kit/protocols/aws.ts';
import { bedrockModels } from '../kit/protocols/language-models.ts';
import { callsOf } from './_calls.ts';
import { ai, type AiKind, type AiLine, type AiModel } from './_contract.ts';
import { chatModel, embeddingModel } from './_models.ts';

const title = 'Amazon Bedrock';
const TYPES: FailureByCode = {
  ServiceQuotaExceededException: 'exhausted',
  ModelTimeoutException: 'lost',
  ModelErrorException: 'unavailable',
  ModelNotReadyException: 'unavailable',
  throttlingException: 'rate_limited',
  serviceUnavailableException: 'unavailable',
  internalServerException: 'unavailable',
  modelStreamErrorException: 'lost',
  validationException: 'rejected',
};
const Type = z.string().nullish().catch(undefined);
/** Exceptions have a name: in a header, in the body, or as the type of an event. */
const awsError = z
  .object({
    headers: z.object({ 'x-amzn-errortype': Type }).optional(),
    __type: Type,
    error: z.object({ type: Type }).nullish().catch(undefined),
  })
  .transform(({ headers, __type, error }) => headers?.['x-amzn-errortype'] ?? __type ?? error?.type ?? '')
  .transform((name) => TYPES[name.replace(/^.*#/, '').split(':', 1)[0]!])
  .pipe(FailureWord);

const Models = z
  .object({
    modelSummaries: z.array(
      z.object({
        modelId: z.string(),
        inputModalities: z.array(z.string()).catch([]),
        outputModalities: z.array(z.string()).catch([]),
        modelLifecycle: z.object({ status: z.string() }).optional().catch(undefined),
      }),
    ),
  })
  .transform(({ modelSummaries }) =>
    modelSummaries.flatMap(({ modelId, inputModalities, outputModalities, modelLifecycle }): AiModel[] => {
      if (modelLifecycle?.status === 'LEGACY') return [];
      if (outputModalities.includes('EMBEDDING')) return [embeddingModel(modelId)];
      const kinds: AiKind[] = inputModalities.includes('IMAGE') ? ['vision'] : [];
      return outputModalities.includes('TEXT') ? [chatModel(modelId, undefined, ...kinds)] : [];
    }),
  );

interface Signed {
  method: string;
  url: string;
  body?: string;
}
/** The signature of a call by the access key; none beside an API key, which the line sends itself. */
async function signature({ values, clock }: AiLine, request: Signed): Promise<Record<string, string>> {
  const { region = '', accessKeyId = '', secretAccessKey = '', sessionToken = '', apiKey } = values;
  const access = { region, accessKeyId, secretAccessKey, sessionToken };
  return apiKey ? {} : signAws(access, { service: 'bedrock', ...request, now: clock.now() });
}

async function listed(line: AiLine) {
  const url = `${line.hosts['control']}/foundation-models`;
  return line.http.get(url, Models, { headers: await signature(line, { method: 'GET', url }) });
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export default ai({
  id: 'bedrock',
  version: 'v1',
  status: 'active',
  kind: 'hub',
  title,
  description: 'Models of many makers on AWS.',
  website: 'https://aws.amazon.com/bedrock',
  authType: 'aws_sigv4',
  setupNotes:
    'A Bedrock API key, or an access key with bedrock:InvokeModel*; the test lists models, which needs bedrock:ListFoundationModels. Some models are called by the id of an inference profile, like us.anthropic.claude-sonnet-5.',
  credentials: {
    region: text('AWS region', { validation: '[a-z0-9-]{3,40}', help: 'Like us-east-1; models differ by region' }),
    apiKey: secret('Bedrock API key', { required: false, help: 'In the place of an access key' }),
    accessKeyId: text('Access key ID', { required: false, validation: '[A-Za-z0-9]{4,128}' }),
    secretAccessKey: secret('Secret access key', { required: false }),
    sessionToken: secret('Session token', { required: false, help: 'Of temporary credentials only' }),
  },
  oneOf: [['apiKey'], ['accessKeyId', 'secretAccessKey']],
  api: 'https://bedrock-runtime.{region}.amazonaws.com',
  hosts: { control: 'https://bedrock.{region}.amazonaws.com' },
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
    { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey', host: 'control' },
  ],
  errorHeaders: ['x-amzn-errortype'],
  errorOf: awsError,
  terse: true, // its texts name the rights and resources of the account
  models: [
    chatModel('amazon.nova-2-lite-v1:0', 128_000, 'vision', 'tools'),
    chatModel('anthropic.claude-haiku-4-5-20251001-v1:0', 200_000, 'vision', 'tools', 'object'),
    chatModel('us.anthropic.claude-sonnet-5', 1_000_000, 'vision', 'tools', 'object'),
    chatModel('anthropic.claude-sonnet-5-5', undefined, 'vision', 'tools', 'object'),
    chatModel('anthropic.claude-opus-5-5', undefined, 'vision', 'tools', 'object'),
    embeddingModel('amazon.titan-embed-text-v2:0', 8_192),
  ],
  listModels: (line) => listed(line),
  connect: (line) =>
    callsOf(line, {
      title,
      objects: () => 'words', // the form that its client gives to a schema depends on the maker of a model
      open: (send) =>
        bedrockModels({
          base: line.base,
          fetch: async (input, init) => {
            const headers = Object.fromEntries(new Headers(init?.headers));
            const url = input instanceof Request ? input.url : input.toString();
            const request = { method: 'POST', url, body: init?.body as string }; // a question is JSON
            return send(input, { ...init, headers: { ...headers, ...(await signature(line, request)) } });
          },
        }),
    }),
  check: async (line) => `The key is accepted: ${(await listed(line)).length} models are in this region`,
});
