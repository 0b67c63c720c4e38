/** `secure`: `starttls` upgrades before anything is said and goes no further without, `tls` from the first byte, `none` never. */
export interface SmtpServer {
  host: string;
  port: number;
  secure: 'starttls' | 'tls' | 'none';
  /** Empty: the server asks for no login. */
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
}

/** Connections to one server, kept while mail flows. `send` ends when the server has taken the mail, and throws `ProviderError`. */
export interface SmtpLine {
  send(mail: SmtpMail): Promise<void>;
  /** Connects, encrypts and logs in as `send` does, and sends nothing. */
  verify(): Promise<void>;
  close(): void;
}
export type Smtp = (server: SmtpServer) => SmtpLine;
