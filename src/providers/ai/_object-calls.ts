import { ProviderError } from '../../platform/kernel/index.ts';
import { addedUsage, sumOfCosts } from './_answers.ts';
import type { AiTurn, ObjectAnswer, ObjectRequest, TextAnswer, TextRequest } from './_contract.ts';
import type { Dialect, ModelQuestion } from './_dialect.ts';
import { withoutWords } from './_failures.ts';
import { objectIn, objectInstruction, shapeOf, strictlyTaken } from './_objects.ts';

type Generate = (request: TextRequest, signal?: AbortSignal, how?: Partial<ModelQuestion>) => Promise<TextAnswer>;

/** Asks for an object, and once more when the answer is none of the form. */
export async function askForObject(
  generate: Generate,
  dialect: Dialect,
  request: ObjectRequest,
  signal?: AbortSignal,
): Promise<ObjectAnswer> {
  const shape = shapeOf(request.schema);
  const { how, ...asked } = objectQuestion(request, dialect);
  const first = await generate(asked, signal, how);
  const found = objectIn(first.text, shape);
  if ('value' in found || first.end !== 'stop') return objectAnswer(first, found);
  const says = (role: AiTurn['role'], text: string): AiTurn => ({ role, parts: [{ type: 'text', text }] });
  const turns = [
    ...asked.turns,
    says('assistant', first.text || '(nothing)'),
    says('user', `This is not valid: ${found.fault}. Answer with the corrected JSON value alone.`),
  ];
  const second = await generate({ ...asked, turns }, signal, how).catch((error: unknown) => {
    // the first answer is paid for, so it counts where nothing came of the second question
    if (error instanceof ProviderError && error.failure !== 'lost' && !signal?.aborted) return undefined;
    throw withoutWords(error, first.text);
  });
  return second ? objectAnswer(second, objectIn(second.text, shape), first) : objectAnswer(first, found);
}

function objectQuestion({ schema, ...request }: ObjectRequest, { objects }: Dialect) {
  const way = objects(request.model);
  if (way === 'schema')
    return {
      ...request,
      how: {
        responseFormat: { type: 'json', schema, name: 'answer' } as NonNullable<ModelQuestion['responseFormat']>,
        providerOptions: { openaiCompatible: { strictJsonSchema: strictlyTaken(schema) } },
      },
    };
  const instruction = [request.instruction, objectInstruction(schema)].filter(Boolean).join('\n\n');
  const how: Partial<ModelQuestion> = way === 'json' ? { responseFormat: { type: 'json' } } : {};
  return { ...request, instruction, how };
}

/** An answer that is no object of the form has none, and tells why it ended; what was tried before is paid for, too. */
function objectAnswer(
  { cost, usage, end, model }: TextAnswer,
  found: { value: unknown } | { fault: string },
  before?: TextAnswer,
): ObjectAnswer {
  const whole = before ? sumOfCosts([before.cost, cost]) : cost;
  return {
    object: 'value' in found ? found.value : undefined,
    end: 'value' in found || end !== 'stop' ? end : 'other',
    model,
    usage: before ? addedUsage(before.usage, usage) : usage,
    ...(whole && { cost: whole }),
  };
}
