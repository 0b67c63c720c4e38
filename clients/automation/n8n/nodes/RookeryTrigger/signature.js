const { createHmac, timingSafeEqual } = require('node:crypto');

const TOLERANCE_SECONDS = 300;

/**
 * Tells whether a delivery of a webhook bears the signature of its secret (Standard Webhooks).
 *
 * @param {Buffer} body the bytes as they came in
 * @param {Record<string, string | string[] | undefined>} headers with names in lower case
 * @param {string} secret `whsec_…`
 * @returns {boolean}
 */
function isSigned(body, headers, secret, now = Date.now() / 1_000) {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name] ?? ''),
  );
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  // for a day after a rotation there are two
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
module.exports = { isSigned };
