import type { Values } from '../kit/declare/fields.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { AuthAdapter, Login } from './_contract.ts';

/** Codes, verifiers and signatures are good for one person: none is to be seen in a failure. */
const textsOf = (call: unknown): string[] => Object.values(Object(call) as object).filter((value) => typeof value === 'string');

/** A way to log in, with the configuration of the instance. */
export const openLogin =
  (lines: Lines) =>
  (adapter: AuthAdapter, values: Values): Login =>
    lines.opened(adapter, { orgId: null, values }, (line) => adapter.connect(line), textsOf);
