import { type Answer, type Client } from './app.ts';
import { type Product, wholeProduct } from './product.ts';

let lastId = 0;

/** A request of JSON-RPC with an id of its own. */
export const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: (lastId += 1), method, params });
export const callOf = (name: string, input: object = {}) => rpc('tools/call', { name, arguments: input });

/** Sends a message as clients of the 2025 revisions do. */
export const sendRpc = (client: Client, message: unknown, path = '/mcp', headers: Record<string, string> = {}) =>
  client.post(path, message, { accept: 'application/json, text/event-stream', ...headers });

/** The result of a tool that worked. */
// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
export async function called(client: Client, name: string, input: object = {}, path = '/mcp'): Promise<any> {
  const { status, body } = await sendRpc(client, callOf(name, input), path);
  if (status !== 200 || body.result === undefined || body.result.isError)
    throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
  return body.result.structuredContent;
}

/** The refusal that a tool answers as its result. */
// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
export async function faultedBy(client: Client, name: string, input: object = {}, path = '/mcp'): Promise<any> {
  const { status, body } = await sendRpc(client, callOf(name, input), path);
  if (status !== 200 || body.result?.isError !== true)
    throw new Error(`${name} was not refused: ${status} ${JSON.stringify(body)}`);
  return body.result.structuredContent;
}

/** What a surface says of a call: refused before it, refused by the tool, or taken. */
export function outcomeOf({ status, body }: Answer): string {
  if (body?.error) return `${status} ${body.error.code} ${body.error.data?.code ?? ''}`.trim();
  return body?.result?.isError ? `fault ${body.result.structuredContent.code}` : `${status}`;
}

/** The product with the sandbox network, and the owner of an organization with a channel and a key. */
export async function mcpWorld(options: Parameters<typeof wholeProduct>[0] = {}) {
  await using opened = new AsyncDisposableStack();
  const product: Product = opened.use(await wholeProduct({ sandbox: true, ...options }));
  await product.signUp(); // the first is a super-admin, who passes every permission
  const ann = await product.signUp();
  const key = await ann.withKey();
  const connected = await ann.client.post('/integrations/social-connect/sandbox', {
    fields: { name: 'Net' },
    allowPreview: true,
  });
  const channelId = connected.body.id as string;
  const running = opened.move();
  return {
    product,
    ann,
    key,
    channelId,
    /** A post as agents write it. */
    post: (more: object = {}) => ({
      socialPost: [
        {
          integrationId: channelId,
          type: 'draft',
          postsAndComments: [{ content: 'Hello' }],
          ...more,
        },
      ],
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
export type McpWorld = Awaited<ReturnType<typeof mcpWorld>>;
