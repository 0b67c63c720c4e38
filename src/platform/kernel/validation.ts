import { z } from 'zod';
import { type FieldError, fieldError, MOST_FAULTS, unknownField, validationFailed } from './errors.ts';
import { wordsOfIssue, wordsOfOptions } from './validation-words.ts';

type Issue = z.core.$ZodIssue;

const ABSENT = new Set(['invalid_type', 'invalid_value', 'invalid_union']);
const rule = (issue: Issue): string => (issue.input === undefined && ABSENT.has(issue.code) ? 'required' : issue.code);

const isUnknown = ({ code }: Issue): boolean => code === 'unrecognized_keys';

/**
 * Zod's issues as the field errors of S6 and S7: one for each unknown key, each with the path of its field; as many as
 * a refusal names.
 */
function fieldErrors(issues: readonly Issue[], at: readonly PropertyKey[] = []): FieldError[] {
  const errors: FieldError[] = [];
  for (const issue of [...issues.filter(isUnknown), ...issues.filter((one) => !isUnknown(one))]) {
    if (errors.length >= MOST_FAULTS) break;
    errors.push(...errorsOf(issue, [...at, ...issue.path]));
  }
  return errors;
}

/** Tells whether an option of a union finds fault with the value itself, and not with something in it. */
const isWhole = (issues: readonly Issue[]): boolean =>
  issues.some(({ code, path }) => path.length === 0 && code === 'invalid_type');

function errorsOf(issue: Issue, path: readonly PropertyKey[]): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MOST_FAULTS).map((key) => unknownField(key, [...path, key].join('.')));
  if (issue.code === 'invalid_union' && issue.input !== undefined && wordsOfOptions(issue.errors) === undefined) {
    const nearest = issue.errors.toSorted((a, b) => Number(isWhole(a)) - Number(isWhole(b)) || a.length - b.length)[0];
    if (nearest?.length) return fieldErrors(nearest, path);
  }
  const field = path.join('.');
  return [fieldError(field, issue.message, rule(issue))];
}

/** Tells whether a value means that a feature is not wanted: what clients send for an option that nobody touched. */
export const asksNothing = (value: unknown): boolean =>
  !value || (Array.isArray(value) ? value.length === 0 : typeof value === 'object' && Object.keys(value).length === 0);

/**
 * Parses an input by its schema, or answers every fault of it in the words that callers see; `at` is the path of the
 * input itself.
 */
export function judge<S extends z.ZodType>(
  schema: S,
  input: unknown,
  at: readonly PropertyKey[] = [],
): { data: z.output<S>; errors?: never } | { data?: never; errors: FieldError[] } {
  const result = schema.safeParse(input, { reportInput: true, error: wordsOfIssue });
  return result.success ? { data: result.data } : { errors: fieldErrors(result.error.issues, at) };
}

/** Parses or throws the `validation_failed` / `unknown_field` error that names every field. */
export function parse<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const { data, errors } = judge(schema, input);
  if (errors) throw validationFailed(errors);
  return data;
}
