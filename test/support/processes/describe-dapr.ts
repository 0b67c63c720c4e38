import { describe } from '@jest/globals';
import { daprMissing } from './dapr-harness.ts';

/**
 * `describe` where the Dapr programs are; elsewhere its cases are skipped under a name that says why, or fail when
 * DAPR_REQUIRED=1.
 */
export function describeDapr(name: string, cases: () => void): void {
  const missing = daprMissing();
  if (missing === undefined) return describe(name, cases);
  describe.skip(`${name} [skipped: ${missing}]`, cases);
}
