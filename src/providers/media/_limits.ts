import { z } from 'zod';
import { type FieldError, fieldError, judge, validationFailed } from '../../platform/kernel/index.ts';
import type { MediaOperation, MediaRequest, SourceFile } from './_calls.ts';
import type { MediaAdapter, Takes } from './_contract.ts';

/** Characters of a prompt for which a model states no limit. */
export const PROMPT_LENGTH = 5_000;

type Spec = Pick<MediaAdapter, 'title' | 'models' | 'actions' | 'anyModel'>;

/** Answers what an operation takes: of the model, or of the provider where it is an action. Undefined: not offered. */
export function takesOf(
  { models, actions, anyModel }: Spec,
  operation: MediaOperation,
  model: string | null,
): Takes | undefined {
  if (model === null) return actions?.[operation];
  const known = models.find(({ id }) => id === model);
  return (known ?? (anyModel?.id.test(model) ? anyModel : undefined))?.operations[operation];
}

/** Answers the model that an operation has when none is named: null for an action, undefined where it is not offered. */
export const defaultModelOf = ({ models, actions }: Spec, operation: MediaOperation): string | null | undefined =>
  models.find(({ operations }) => operations[operation])?.id ?? (actions?.[operation] ? null : undefined);

const oneOf = (values: readonly string[] | undefined, meaning: string) =>
  values?.length ? z.enum(values as [string, ...string[]]).meta({ description: meaning }) : undefined;

const LANGUAGE = z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/);

function secondsOf(seconds: Takes['seconds']) {
  if (seconds === undefined) return undefined;
  if ('from' in seconds) return z.number().min(seconds.from).max(seconds.to);
  return z.union(seconds.map((value) => z.literal(value)));
}

function promptOf({ prompt = 'required', promptLength = PROMPT_LENGTH }: Takes) {
  if (prompt === 'none') return undefined;
  const text = z.string().trim().min(1).max(promptLength);
  return prompt === 'required' ? text : text.optional();
}

function optionsOf({ options }: Takes) {
  if (!options) return undefined;
  const fields = z.strictObject(
    Object.fromEntries(
      Object.entries(options).map(([name, { label, required, number }]) => {
        const text = z.string().trim().min(1).max(1_000);
        const value = (number ? text.regex(/^\d{1,6}(\.\d{1,3})?$/) : text).meta({ title: label });
        return [name, required ? value : value.optional()];
      }),
    ),
  );
  return Object.values(options).some(({ required }) => required) ? fields : fields.optional();
}

/** The longest that a result may last, in seconds. */
const longestOf = ({ seconds }: Takes): number | undefined =>
  seconds && ('to' in seconds ? seconds.to : Math.max(...seconds));

/** The length of the longest file or, where nobody knows it, the most that it can be and that is taken. */
const lastingOf = (sources: readonly SourceFile[], takes: Takes | undefined): number =>
  Math.max(
    0,
    ...sources.map(
      ({ seconds, mostSeconds = 0 }) => seconds ?? Math.min(mostSeconds, takes?.sourceSeconds ?? mostSeconds),
    ),
  );

/**
 * The seconds that are paid for at most: those that are asked for, else the longest that a result lasts, else those of
 * the files; of a price by its source never less than those of the files.
 */
export function mostPaidSeconds(
  takes: Takes | undefined,
  asked: number | undefined,
  sources: readonly SourceFile[],
): number {
  const result = asked ?? (takes && longestOf(takes));
  return result === undefined || takes?.paidBySource ? Math.max(lastingOf(sources, takes), result ?? 0) : result;
}

/**
 * Makes the schema of an operation's input from what it takes: the form, its check and its documentation. `source` is
 * the schema of one file that it starts from. A value that the operation does not take is unknown to the schema.
 */
export function mediaInputOf(takes: Takes, source: z.ZodType) {
  const { ratios, sizes, seconds, count, voices, languages, sources } = takes;
  const lasting = secondsOf(seconds);
  const fields: Record<string, z.ZodType | undefined> = {
    prompt: promptOf(takes),
    ratio: oneOf(ratios, 'Width to height')?.optional(),
    size: oneOf(sizes, 'Width and height in pixels')?.optional(),
    seconds: takes.secondsNeeded ? lasting : lasting?.optional(),
    count: count === undefined ? undefined : z.int().min(1).max(count).optional(),
    voice: (voices === 'any' ? z.string().trim().min(1).max(200) : oneOf(voices, 'Name of the voice'))?.optional(),
    language: (languages === true ? LANGUAGE : oneOf(languages, 'Code of the language'))?.optional(),
    options: optionsOf(takes),
    sources: sources && (sources.min > 0 ? listOf(source, sources) : listOf(source, sources).optional()),
  };
  return z.strictObject(
    Object.fromEntries(Object.entries(fields).flatMap(([name, field]) => (field ? [[name, field]] : []))),
  );
}
const listOf = (source: z.ZodType, { min, max }: NonNullable<Takes['sources']>) => z.array(source).min(min).max(max);

/** A request before it has its key: as a person asked, with the files that were found in the library. */
export type AskedMedia = Omit<MediaRequest, 'key' | 'callbackUrl'>;

const INPUTS = ['prompt', 'ratio', 'size', 'seconds', 'count', 'voice', 'language', 'options'] as const;

/** Faults of the files: their kinds, and that a provider which fetches them itself can reach them. */
function faultsOfSources(takes: Takes, { sources }: AskedMedia): FieldError[] {
  const { kinds = [], fetched } = takes.sources ?? {};
  return sources.flatMap(({ kind, publicUrl }, n): FieldError[] => {
    const field = `sources.${n}`;
    if (!kinds.includes(kind))
      return [fieldError(field, `must be ${kinds.join(' or ')}, not ${kind}`, 'invalid_value')];
    if (fetched && publicUrl === undefined) {
      const sentence = 'the provider fetches files itself, and this server cannot be reached from outside';
      return [fieldError(field, sentence, 'not_public')];
    }
    return [];
  });
}

/** Faults of groups of which nothing is given. */
function faultsOfGroups({ anyOf = [] }: Takes, request: AskedMedia): FieldError[] {
  const isGiven = (name: string) => {
    const [field, option] = name.split('.');
    if (option !== undefined) return request.options?.[option] !== undefined;
    return request.sources.some(({ kind }) => kind === field) || request[field as keyof AskedMedia] !== undefined;
  };
  return anyOf
    .filter((group) => !group.some(isGiven))
    .map(([first, ...others]) => {
      const field = ['image', 'video', 'audio'].includes(first!) ? 'sources' : first!;
      const instead = others.length > 0 ? `, or instead ${others.join(' or ')}` : '';
      return fieldError(field, `is needed${instead}`, 'required');
    });
}

/**
 * Checks a request against what its model takes, before any call. `at` prefixes the names of fields.
 *
 * @throws AppError `validation_failed` or `unknown_field` with every fault
 */
export function checkMediaRequest(adapter: Spec, request: AskedMedia, at = ''): void {
  const { operation, model, sources } = request;
  const takes = takesOf(adapter, operation, model);
  if (!takes) throw validationFailed([unknownOf(adapter, request, at)]);
  const input = Object.fromEntries(
    INPUTS.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name] as unknown]])),
  );
  if (takes.sources || sources.length > 0) input['sources'] = sources;
  const { errors = [] } = judge(mediaInputOf(takes, z.looseObject({})), input);
  const faults = [
    ...errors,
    ...(takes.sources ? faultsOfSources(takes, request) : []),
    ...faultsOfGroups(takes, request),
  ];
  if (faults.length > 0) throw validationFailed(faults.map((fault) => ({ ...fault, field: at + fault.field })));
}

function unknownOf(
  { title, models, actions, anyModel }: Spec,
  { operation, model }: AskedMedia,
  at: string,
): FieldError {
  const offering = models.filter(({ operations }) => operations[operation]).map(({ id }) => id);
  const [field, rule] = [`${at}model`, 'invalid_value'];
  if (offering.length === 0 && !actions?.[operation] && !anyModel?.operations[operation])
    return fieldError(`${at}operation`, `${title} does not offer ${operation}`, rule);
  if (model === null) return fieldError(field, `is needed, such as ${offering[0] ?? 'one of its list'}`, 'required');
  if (offering.length === 0) return fieldError(field, `${title} has no models for ${operation}, leave it out`, rule);
  const known = models.some(({ id }) => id === model);
  const problem = known ? `does not offer ${operation}` : 'is unknown';
  return fieldError(field, `${problem}, use one of ${offering.slice(0, 20).join(', ')}`, rule);
}
