import type { z } from 'zod';
import { type FieldError, MOST_FAULTS, validationFailed } from './errors.ts';

type Issue = z.core.$ZodIssue;

const rule = (issue: Issue): string =>
  issue.code === 'unrecognized_keys' ? 'unknown' : issue.code === 'invalid_type' && issue.input === undefined ? 'required' : issue.code;

const isUnknown = ({ code }: Issue): boolean => code === 'unrecognized_keys';

/** Zod's issues as the field errors of S6 and S7: one for each unknown key, each with the path of its field; as many as a refusal names. */
export function fieldErrors(issues: readonly Issue[], at: readonly PropertyKey[] = []): FieldError[] {
  const errors: FieldError[] = [];
  for (const issue of [...issues.filter(isUnknown), ...issues.filter((one) => !isUnknown(one))]) {
    if (errors.length >= MOST_FAULTS) break;
    errors.push(...errorsOf(issue, [...at, ...issue.path]));
  }
  return errors;
}

function errorsOf(issue: Issue, path: readonly PropertyKey[]): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MOST_FAULTS).map((key) => ({ field: [...path, key].join('.'), message: `property ${key} should not exist`, rule: 'unknown' }));
  if (issue.code === 'invalid_union') {
    const nearest = issue.errors.toSorted((a, b) => a.length - b.length)[0];
    if (nearest?.length) return fieldErrors(nearest, path);
  }
  const field = path.join('.');
  return [{ field, message: `${field || 'body'}: ${issue.message}`, rule: rule(issue) }];
}

/** Parses or throws the `validation_failed` / `unknown_field` error that names every field. */
export function parse<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  throw validationFailed(fieldErrors(result.error.issues));
}
