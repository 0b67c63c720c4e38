export default async function teardown(): Promise<void> {
  await (globalThis as { rookeryServices?: AsyncDisposable }).rookeryServices?.[Symbol.asyncDispose]();
}
