/** A random id of 32 hex digits, also on Node 18, which has no global `crypto`, and on pages without https. */
export async function randomId(): Promise<string> {
  const name = 'node:crypto'; // not as a literal: bundlers for browsers would look for it
  const { getRandomValues } = globalThis.crypto
    ? { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => globalThis.crypto.getRandomValues(bytes) }
    : ((await import(name)) as { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array });
  return Array.from(getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
