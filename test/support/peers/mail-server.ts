import { makeCertificate } from '../wire/certificate.ts';
import type { Peer } from './peers.ts';

/** One mail as the server took it, parsed by somebody else's parser. */
export interface ReceivedMail {
  envelope: { from: string; to: string[] };
  secure: boolean;
  user: string | null;
  raw: string;
  messageId: string | null;
  from: { name: string; address: string }[];
  to: { name: string; address: string }[];
  cc: { name: string; address: string }[];
  subject: string | null;
  text: string | null;
  html: string | null;
  headers: string[];
  attachments: number;
}
interface Listening {
  port?: number;
  starttls?: boolean;
  tls?: boolean;
  login?: { user: string; pass: string };
}

/** The peer `email` under control: `certificate` is what its encrypted servers show. */
export function mailServer({ url }: Peer) {
  const certificate = makeCertificate();
  async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(url + path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  return {
    certificate,
    listen: async (options: Listening = {}) =>
      ((await ask('POST', '/servers', { ...options, ...certificate })) as { port: number }).port,
    close: (port: number) => ask('DELETE', `/servers/${port}`),
    /** Recipients `held…` whose mails it has and has not answered, one entry for each mail. */
    held: async (to: string) => ((await ask('GET', '/held')) as string[]).filter((one) => one === to),
    release: (to: string) => ask('POST', '/released', { to }),
    mails: async (to?: string) =>
      ((await ask('GET', '/mails')) as ReceivedMail[]).filter(
        ({ envelope }) => to === undefined || envelope.to.includes(to),
      ),
  };
}
export type MailServer = ReturnType<typeof mailServer>;
