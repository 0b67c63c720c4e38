import type { Values } from '../kit/declare/fields.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { AuthAdapter, Login } from './_contract.ts';

/** Reads the codes, verifiers and signatures of a call, which must not appear in failures. */
const textsOf = (call: unknown): string[] =>
  Object.values(Object(call) as object).filter((value) => typeof value === 'string');

/** Opens a login provider with the configuration of the instance. */
export const openLoginProvider =
  (lines: Lines) =>
  (adapter: AuthAdapter, values: Values): Login =>
    lines.opened(adapter, { orgId: null, values }, (line) => adapter.connect(line), textsOf);
