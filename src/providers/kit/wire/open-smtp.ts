import { rootCertificates } from 'node:tls';
import type { Transporter } from 'nodemailer';
import { ProviderError, type ProviderFailure } from '../../../platform/kernel/index.ts';
import { redactor } from '../declare/redact.ts';
import type { Smtp, SmtpServer } from '../protocols/smtp.ts';

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
/** Limit of one exchange: a server that sends slowly never times out by silence. */
const WHOLE_MS = 60_000;
const IDLE_MS = 15_000;
const CONNECTIONS = 4;

interface SmtpError extends Error {
  code?: string;
  command?: string;
  responseCode?: number;
  /** The answer of the server. */
  response?: string;
}

/** Opens connections to mail servers over nodemailer. `authorities` (PEM) are trusted beside the usual ones. */
export const openSmtp =
  (authorities: readonly string[] = []): Smtp =>
  (server) => {
    const clean = redactor([server.password]);
    const fail = (error: SmtpError): never => {
      throw new ProviderError(failureOf(error), clean(error.message), {
        cause: error,
        reason: isAddressBad(error) ? 'bad_address' : undefined,
      });
    };
    let transport: Promise<Transporter> | undefined;
    const connect = () =>
      (transport ??= import('nodemailer').then(({ createTransport }) =>
        createTransport(optionsOf(server, authorities)),
      ));

    return {
      async send({ messageId, from, to, subject, text, html, headers }) {
        const line = await connect();
        const message = {
          messageId: `<${messageId}>`,
          from,
          to: { name: '', address: to },
          subject,
          text,
          html,
          signal: AbortSignal.timeout(WHOLE_MS),
        };
        await line
          .sendMail({
            ...message,
            headers: { ...headers },
            disableFileAccess: true,
            disableUrlAccess: true,
          })
          .catch(fail);
      },
      async verify() {
        const line = await connect();
        await line.verify().catch(fail);
      },
      close: () => void transport?.then((line) => line.close()),
    };
  };

const optionsOf = ({ host, port, secure, username, password }: SmtpServer, authorities: readonly string[]) => ({
  pool: true as const,
  host,
  port,
  secure: secure === 'tls',
  requireTLS: secure === 'starttls',
  ignoreTLS: secure === 'none',
  ...(username !== '' && { auth: { user: username, pass: password } }),
  ...(authorities.length > 0 && { tls: { ca: [...rootCertificates, ...authorities] } }),
  maxConnections: CONNECTIONS,
  maxRequeues: 0, // the caller repeats, and counts attempts
  idleTimeout: IDLE_MS,
  dnsTimeout: CONNECT_MS,
  connectionTimeout: CONNECT_MS,
  greetingTimeout: CONNECT_MS,
  socketTimeout: SILENCE_MS,
});

/**
 * Only refusals of the recipient or the content are final (RFC 5321 4.2.1); those of login and sender can be corrected
 * by an operator.
 */
function failureOf({ code, command, responseCode = 0 }: SmtpError): ProviderFailure {
  if (responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA')) return 'rejected';
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'reauthorize';
  return 'unavailable';
}

/** No mailbox, another name, one that has moved, one that is disabled (RFC 3463 3.2, 3.3). */
const BAD_ADDRESS = new Set(['5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']);
/** What a server also says by the same codes of senders, whose operator can correct it. */
const NOT_ITS_ADDRESS = /relay|auth|polic|spam|block|denied/i;

/**
 * Tells whether a recipient was refused because of the address: by the enhanced status, and where there is none by the
 * codes of a mailbox (RFC 5321 4.2.3), unless the words are about the sender.
 */
export function isAddressBad({ command, responseCode = 0, response = '' }: SmtpError): boolean {
  if (responseCode < 500 || command !== 'RCPT TO') return false;
  const [, status] = /^5\d\d[ -](5\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  if (status !== undefined) return BAD_ADDRESS.has(status);
  return [550, 551, 553].includes(responseCode) && !NOT_ITS_ADDRESS.test(response);
}
