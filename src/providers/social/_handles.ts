import type { ReadHandle } from './_contract.ts';

// Handles as people type them.

const FEDERATED = /^([@!]?)([\w.-]{1,100})@([a-z0-9.-]{1,253}(?::\d{1,5})?)$/i;

/**
 * Reads `@name@server`, or `!name@server` where a network writes communities so; `field` is the typed field that names
 * the server. Undefined for anything else.
 */
export function federatedHandle(typed: string, field: string, marks: '@' | '@!' = '@'): ReadHandle | undefined {
  const [, mark = '', name = '', server = ''] = FEDERATED.exec(typed.trim()) ?? [];
  const origin = `https://${server.toLowerCase()}`;
  if (name === '' || (mark !== '' && !marks.includes(mark)) || !URL.canParse(origin)) return undefined;
  return {
    handle: `${mark || '@'}${name.toLowerCase()}@${new URL(origin).host}`,
    values: { [field]: new URL(origin).origin },
  };
}

/** The name in a handle with a server. */
export const localName = (handle: string): string => handle.slice(1).split('@')[0]!;

/** Reads a handle that is a name alone, with or without the sign in front of it. */
export function plainHandle(typed: string, name: RegExp): ReadHandle | undefined {
  const bare = typed.trim().replace(/^@/, '').toLowerCase();
  return name.test(bare) ? { handle: `@${bare}`, values: {} } : undefined;
}
