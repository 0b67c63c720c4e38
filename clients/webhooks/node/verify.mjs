// Verifies deliveries of webhooks. One file, Node 18 or newer, nothing to install: copy it.
import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 300;

/**
 * Tells whether a delivery comes from the service, and when it was sent.
 *
 * Each secret that is given must be borne out by its header. Give `secret`, the webhook's own: its signature covers id
 * and time, so a delivery cannot be sent again by others. That of the deployment covers the body alone.
 *
 * @param {object} delivery
 * @param {Uint8Array | string} delivery.body the bytes as they came in, before anything parsed them
 * @param {Headers | Record<string, string | string[] | undefined>} delivery.headers names in any case
 * @param {string | string[]} [delivery.secret] `whsec_…`; several while you change from one to the next
 * @param {string} [delivery.deploymentSecret] of the whole service, for `X-Service-Signature`
 * @param {number} [delivery.now] seconds since 1970
 * @returns {{ ok: true, id: string | undefined } | { ok: false, reason: string }} `id` is the same at every attempt:
 *   skip what you have seen. Reasons: `missing_header`, `invalid_timestamp`, `outside_tolerance`, `wrong_signature`
 */
export function verifyWebhook({ body, headers, secret, deploymentSecret, now = Math.floor(Date.now() / 1000) }) {
  // by an empty key, as of a variable that is set to nothing, anybody can sign
  if ((secret === undefined && deploymentSecret === undefined) || deploymentSecret === '')
    throw new TypeError('Give a secret to verify with');
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const given = headerReader(headers);
  if (deploymentSecret !== undefined) {
    const reason = judgeDeployment(bytes, given('x-service-signature'), deploymentSecret);
    if (reason) return { ok: false, reason };
  }
  if (secret !== undefined) {
    const reason = judgeOwn(bytes, given, Array.isArray(secret) ? secret : [secret], now);
    if (reason) return { ok: false, reason };
  }
  return { ok: true, id: given('webhook-id') };
}

function judgeDeployment(bytes, signature, deploymentSecret) {
  if (!signature) return 'missing_header';
  const expected = createHmac('sha256', deploymentSecret).update(bytes).digest('hex');
  return isSame(signature, `sha256=${expected}`) ? undefined : 'wrong_signature';
}

function judgeOwn(bytes, given, secrets, now) {
  const keys = secrets.map(keyOf);
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(given);
  if (!id || !timestamp || !signatures) return 'missing_header';
  if (!/^[0-9]{1,12}$/.test(timestamp)) return 'invalid_timestamp';
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) return 'outside_tolerance';
  const expected = keys.map((key) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(bytes).digest('base64'),
  );
  // for a day after a rotation there are two: one by each secret
  const values = signatures.split(' ').filter((value) => value.startsWith('v1,'));
  const fits = values.some((value) => expected.some((one) => isSame(value, `v1,${one}`)));
  return fits ? undefined : 'wrong_signature';
}

function keyOf(secret) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  if (key.length === 0) throw new TypeError('A secret is whsec_ and base64');
  return key;
}

/** Compares digests of both, so that the time says nothing about where they differ, nor how long they are. */
function isSame(one, other) {
  const digest = (text) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function headerReader(headers) {
  if (typeof headers.get === 'function') return (name) => headers.get(name) ?? undefined;
  const known = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = known.get(name);
    return Array.isArray(value) ? value[0] : value;
  };
}
