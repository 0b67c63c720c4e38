import type { Database } from '../../../../src/platform/db/index.ts';
import type { ActivationCodes } from '../client.ts';
import { planIn } from '../history/canary.ts';
import type { History, Money } from '../history/shape.ts';
import { recordMails, startMailProvider } from './mails.ts';
import { startPayments } from './payments.ts';
import { startTexts } from './texts.ts';

/** Of third parties, as `openContext` takes them. */
export interface Addresses {
  paymentsServer: string;
  servers: Readonly<Record<string, string>>;
}

/**
 * A payment processor, a provider of mail and one of language models, which the product calls. The first two tell it
 * what happens, as they do in production: repeated, in any order, and again until it is taken.
 */
export interface ThirdParties extends AsyncDisposable {
  /** Has the processes of the product call these. */
  readonly env: Readonly<Record<string, string>>;
  readonly codeTo: ActivationCodes;
  /** Before anybody signs up. */
  record(sql: Database): Promise<void>;
  /** Signs up those who pay, and who spends. */
  open(url: string, sql: Database): Promise<void>;
  /** Begins to tell of payments and of mails, and to spend. */
  begin(url: string): void;
  /** Ends when the product has taken all of it. */
  end(): Promise<void>;
  /** All that is known of it, for the checker. */
  read(sql: Database): Promise<Pick<Money, 'events' | 'left'> & Pick<History, 'mails'>>;
}

export async function startThirdParties(): Promise<ThirdParties> {
  await using begun = new AsyncDisposableStack();
  const mails = begun.use(await startMailProvider());
  const payments = begun.use(await startPayments());
  const texts = begun.use(await startTexts());
  const addresses: Addresses = {
    paymentsServer: payments.url,
    servers: { 'email/resend': mails.url, 'ai/openai': texts.url },
  };
  const preload = new URL('./preload.ts', import.meta.url).href;
  const stack = begun.move();
  return {
    env: {
      ...payments.env,
      ...mails.env,
      NODE_OPTIONS: `--import=${preload}`,
      THIRD_PARTIES: JSON.stringify(addresses),
    },
    codeTo: mails.codeTo,
    record: recordMails,
    async open(url, sql) {
      await Promise.all([payments.open(url, sql, mails.codeTo), texts.open(url, planIn(sql), mails.codeTo)]);
    },
    begin(url) {
      payments.begin(url);
      mails.begin(url);
      texts.begin();
    },
    async end() {
      await Promise.all([payments.end(), mails.end(), texts.end()]);
    },
    read: async (sql) => ({ ...(await payments.read(sql)), mails: await mails.read(sql) }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
