import { request } from 'node:http';
import { REPORT_LANE, type Sidecar } from './sidecar.ts';

const PATIENCE_MS = 3_000;
const MAX_BODY = 4 * 1024 * 1024;

function getJson(url: string): Promise<unknown> {
  return new Promise((done, fail) => {
    const asked = request(url, { timeout: PATIENCE_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (more: string) => {
        text += more;
        if (text.length > MAX_BODY) response.destroy(new Error('too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        try {
          done(JSON.parse(text));
        } catch {
          fail(new Error(`${url} answered ${response.statusCode}, no JSON`));
        }
      });
    });
    asked.on('timeout', () => asked.destroy(new Error(`${url} does not answer`)));
    asked.on('error', fail);
    asked.end();
  });
}

const orReason = <T>(work: Promise<T>) => work.catch((error: Error) => ({ error: error.message }));

/**
 * What daprd says of itself (`/v1.0/metadata`) and what placement says of the hosts of each type, where its health
 * address is known. A part that does not answer is its error.
 */
export async function reportOf(
  sidecar: Sidecar,
  placementHealthUrl: string | undefined,
): Promise<{ sidecar: unknown; placement?: unknown }> {
  const own = orReason(
    sidecar
      .ask(REPORT_LANE, { method: 'GET', path: '/v1.0/metadata' })
      .then(({ status, text }) => (status === 200 ? (JSON.parse(text) as unknown) : { error: `status ${status}` })),
  );
  if (placementHealthUrl === undefined) return { sidecar: await own };
  const placement = orReason(getJson(new URL('/placement/state', placementHealthUrl).href));
  return { sidecar: await own, placement: await placement };
}
