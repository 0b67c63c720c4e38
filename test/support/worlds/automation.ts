import { startReceiver } from '../wire/receiver.ts';
import { wholeProduct } from './product.ts';
import { picture } from './samples.ts';

/**
 * What the definition for an automation service meets: the whole product with a channel of the sandbox, and a server
 * that takes webhooks and has pictures.
 */
export async function automationWorld(service: string) {
  await using opened = new AsyncDisposableStack();
  const small = await picture(4, 4);
  const receiver = opened.use(
    await startReceiver({
      answer: (response, { path }) =>
        void response
          .writeHead(200, { 'content-type': path.endsWith('.png') ? 'image/png' : 'text/plain' })
          .end(path.endsWith('.png') ? small : ''),
    }),
  );
  const product = opened.use(
    await wholeProduct({
      sandbox: true,
      env: { SANDBOX_ENABLED: 'true', SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' },
    }),
  );
  const ann = await product.signUp();
  const key = await ann.withKey();
  const connected = { fields: { name: service }, allowPreview: true };
  const channel: string = (await ann.client.post('/integrations/social-connect/sandbox', connected)).body.id;
  const end = opened.move();
  return {
    product,
    receiver,
    channel,
    orgId: ann.orgId,
    /** What the service logs in with. */
    login: { url: `${product.address}/`, apiKey: key.key },
    own: (method: string, path: string, body?: unknown) => key.send(method, path, body),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type AutomationWorld = Awaited<ReturnType<typeof automationWorld>>;
