import { expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { fromBase64, isEcdsa, isFresh, isHmac, keyOfCertificate } from './signatures.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const SECONDS = NOW.getTime() / 1000;

test('isFresh accepts a time within five minutes in either direction', () => {
  for (const offset of [-300, 0, 300]) expect([offset, isFresh(String(SECONDS + offset), NOW)]).toEqual([offset, true]);
  for (const offset of [-301, 301, 1e9])
    expect([offset, isFresh(String(SECONDS + offset), NOW)]).toEqual([offset, false]);
  expect([isFresh('2026-01-01T11:55:00.000Z', NOW), isFresh('2026-01-01T11:54:59.999Z', NOW)]).toEqual([true, false]);
  for (const none of ['', 'now', '-1', '1e3', 'NaN', '9'.repeat(20)])
    expect([none, isFresh(none, NOW)]).toEqual([none, false]);
});

test('isFresh accepts a late time with `lateMs`, but none further ahead', () => {
  const HOUR = 3_600;
  for (const offset of [-HOUR, 0, 300])
    expect([offset, isFresh(String(SECONDS + offset), NOW, HOUR * 1_000)]).toEqual([offset, true]);
  for (const offset of [-HOUR - 1, 301])
    expect([offset, isFresh(String(SECONDS + offset), NOW, HOUR * 1_000)]).toEqual([offset, false]);
});

test('isHmac accepts no signature by an absent or short key', () => {
  for (const key of ['', 'short', fromBase64(''), fromBase64('!!!!')]) {
    const signature = createHmac('sha256', key).update('text').digest('hex');
    expect([key, isHmac(key, ['text'], signature, 'hex')]).toEqual([key, false]);
  }
  const key = 'long-enough-a-key';
  const signature = createHmac('sha256', key).update('text').digest('hex');
  expect(isHmac(key, ['te', 'xt'], signature, 'hex')).toBe(true);
  for (const other of [signature.slice(0, -2), `${signature}00`, '', 'zz'.repeat(32)])
    expect([other, isHmac(key, ['text'], other, 'hex')]).toEqual([other, false]);
});

test('malformed keys and certificates verify nothing', () => {
  for (const key of ['', 'AAAA', 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE'])
    expect(isEcdsa(key, ['text'], 'AAAA')).toBe(false);
  for (const pem of ['', 'hello', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])
    expect(keyOfCertificate(pem, NOW)).toBeUndefined();
});

// `openssl req -x509 -newkey rsa:2048 -nodes -days 2`, made once; its key is kept nowhere
const PEM = `-----BEGIN CERTIFICATE-----
MIIC/zCCAeegAwIBAgIUTd4jzQrIr/YXtGHXUfwnnNaqJSwwDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEdGVzdDAeFw0yNjExMjEyMTQyMTFaFw0yNjExMjMyMTQy
MTFaMA8xDTALBgNVBAMMBHRlc3QwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEK
AoIBAQCv726gkgZp8uE1zk+zf3ZKjyJVs4AJ16/jYcNAfRzP8nsmiJvWlrhUr8Ru
5SZaGzPUxGNlGF7XPEns+N0CBbFsS5WCt4LHWBBr6WhvS+i3hCePF5Au2CiHBXiE
ThiSMCI6DEAvh4ONLm/N8kV4+X4XEOcyhwCotpsVLYjqSmwey77HCjoHPFrDNZyj
5kh+lqUFAJHA76J4ILW1WlwJVDsjWypO5TKfOZ7LTKGhZOe6vc3DbG258erD7znI
DWWNnhrIPWhLzsbqCxQVmH67tMhmdMaXvSSHRhQTQn1QY5PyhabOBuuAqT9devSx
2faHmsIl1CG0Xhwja70aOU9FPG3hAgMBAAGjUzBRMB0GA1UdDgQWBBTZtD64v7Z6
QxmhtsknBrZlynOb2zAfBgNVHSMEGDAWgBTZtD64v7Z6QxmhtsknBrZlynOb2zAP
BgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQCv392hwSKQ9wOq7qeJ
M2SzunL3TlpK5ADFxJ0jOhhrOdmE9NdQ4cDpLTt5Goqs4nCBByDGlKbkUwkDrTVn
SSOJmdNpze0hHf6Qf89zs82CI4Bvrh0ya0kYfzKDwg0sR5qhS3PO61ixzSWEwjyb
18MTN8PbdHzwd5buka132hgtVcZBtnldDJQgjrO1p4lO1yf9AfgPPyT5XVg1cSnd
PGvJRTnvswVWO4IfErPE4IZSNOAWtPh2I2btfF906MdWlFsMCiAGtWVFJ4g/Cprp
63P4+vwYyQhAKLoAmgQAM09YleXWW/jYMMxrUNNaEgOfw/xrUtzcsRXGmvS9tQRC
Mt/F
-----END CERTIFICATE-----`;

test('keyOfCertificate reads a certificate only while it is valid', () => {
  expect(keyOfCertificate(PEM, new Date('2026-11-22T09:42:12Z'))?.asymmetricKeyType).toBe('rsa');
  for (const at of ['2020-01-01T00:00:00Z', '2030-01-01T00:00:00Z'])
    expect(keyOfCertificate(PEM, new Date(at))).toBeUndefined();
});
