import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

export interface CallAnswer {
  status: number;
  body: unknown;
  text: string;
}

/**
 * One JSON request to a running service, as any client would send it. Rejects when nothing answers within `timeoutMs`.
 */
export function call(
  method: string,
  url: string,
  {
    headers = {},
    body,
    timeoutMs = 30_000,
  }: { headers?: Record<string, string>; body?: unknown; timeoutMs?: number } = {},
): Promise<CallAnswer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((done, fail) => {
    const request = (url.startsWith('https:') ? secure : plain)(
      url,
      {
        method,
        headers: {
          accept: 'application/json',
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(payload),
          }),
          ...headers,
        },
      }, // node tells no length of a DELETE
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', fail);
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          done({ status: answer.statusCode ?? 0, text, body: parsed(text) });
        });
      },
    );
    request.setTimeout(timeoutMs, () =>
      request.destroy(new Error(`No answer from ${new URL(url).origin} within ${timeoutMs / 1000} s`)),
    );
    request.on('error', fail);
    request.end(payload);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
