import { dataOf, type Refusal, type Rookery, RookeryError } from '../../typescript/src/index.ts';

interface Called {
  result?: { isError?: boolean; structuredContent: unknown };
  error?: { message: string; data?: Partial<Refusal> };
}

/** Calls a tool for agents, where the public API has no route for the same (Model Context Protocol). */
export async function callTool<T>(rookery: Rookery, name: string, input: object): Promise<T> {
  const answer = await rookery.request('/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  });
  const { result, error } = await dataOf(answer.json().then((data: Called) => ({ data })));
  if (error) throw new RookeryError(400, { message: error.message, ...error.data });
  if (!result!.isError) return result!.structuredContent as T;
  const refusal = result!.structuredContent as Partial<Refusal>;
  throw new RookeryError(refusal.statusCode ?? 400, refusal);
}
