import type { z } from 'zod';
import { type FieldError, validationFailed } from './errors.ts';

type Issue = z.core.$ZodIssue;

const rule = (issue: Issue): string =>
  issue.code === 'unrecognized_keys' ? 'unknown' : issue.code === 'invalid_type' && issue.input === undefined ? 'required' : issue.code;

/** Zod's issues as the field errors of S6 and S7: one for each unknown key, each with the path of its field. */
export function fieldErrors(issues: readonly Issue[], at: readonly PropertyKey[] = []): FieldError[] {
  return issues.flatMap((issue): FieldError[] => {
    const path = [...at, ...issue.path];
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ field: [...path, key].join('.'), message: `property ${key} should not exist`, rule: 'unknown' }));
    if (issue.code === 'invalid_union') {
      const nearest = issue.errors.toSorted((a, b) => a.length - b.length)[0];
      if (nearest?.length) return fieldErrors(nearest, path);
    }
    const field = path.join('.');
    return [{ field, message: `${field || 'body'}: ${issue.message}`, rule: rule(issue) }];
  });
}

/** Parses or throws the `validation_failed` / `unknown_field` error that names every field. */
export function parse<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  throw validationFailed(fieldErrors(result.error.issues));
}
