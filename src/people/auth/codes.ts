import { randomBase64url, sha256 } from '../../platform/kernel/index.ts';
import type { CodeKind, NewOneTimeCode } from './code-store.ts';

/** Hours that a code lives (S34, S35). */
const HOURS = { activate: 24, reset: 1, email: 24 } as const satisfies Record<CodeKind, number>;

/** Where the console takes a code: the address that the mail links to, without the code. */
const PATHS = {
  activate: '/auth/activate',
  reset: '/auth/forgot',
  email: '/auth/confirm-email',
} as const satisfies Record<CodeKind, string>;

/** A fresh code of 256 bits: what is stored, and the link that carries it. */
export function makeCode(kind: CodeKind, frontendUrl: string): { row: NewOneTimeCode; url: string } {
  const code = randomBase64url(32);
  return {
    row: { kind, codeHash: sha256(code), hours: HOURS[kind] },
    url: `${frontendUrl.replace(/\/$/, '')}${PATHS[kind]}/${code}`,
  };
}
