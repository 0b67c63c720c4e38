/**
 * A mail server. `secure`: `starttls` encrypts before the login and fails without, `tls` encrypts from the first byte,
 * `none` never does.
 */
export interface SmtpServer {
  host: string;
  port: number;
  secure: 'starttls' | 'tls' | 'none';
  /** Empty for a server without login. */
  username: string;
  password: string;
}
export interface SmtpMail {
  /** Without angle brackets. */
  messageId: string;
  from: { name: string; address: string };
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Beside those that the fields above make. */
  headers: Readonly<Record<string, string>>;
}

/**
 * A pool of connections to one server. `send` ends when the server has accepted the mail, and throws `ProviderError`.
 */
export interface SmtpLine {
  send(mail: SmtpMail): Promise<void>;
  /** Connects, encrypts and logs in as `send` does, and sends nothing. */
  verify(): Promise<void>;
  close(): void;
}
export type Smtp = (server: SmtpServer) => SmtpLine;
