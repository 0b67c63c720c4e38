import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A throw-away certificate for these names, `localhost` and loopback, its own authority; made with the `openssl` of the
 * path.
 */
export function makeCertificate(names: readonly string[] = []): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-certificate-'));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=rookery test',
        '-addext',
        `subjectAltName=${[...names, 'localhost'].map((name) => `DNS:${name}`).join()},IP:127.0.0.1,IP:::1`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'pipe' },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
