import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import { signedHttp, signerOf } from '../kit/protocols/oauth1.ts';
import { type Lines, secretsOf } from '../kit/wire/open-line.ts';
import type { App, Social, SocialAdapter, Tokens } from './_contract.ts';
import type { ChannelLogins } from './_login-steps.ts';
import { openChannelLogins, secretsOfApp, secretsOfTokens, type SocialOptions } from './_logins.ts';

export interface ConnectOptions {
  /** The checked fields (`fields`). */
  values: Values;
  /** `Profile.id` of the connected account; empty before it is known. */
  account: string;
  tokens?: Tokens | undefined;
  app?: App | undefined;
  /** Answers fresh tokens after a refused login; called once for each connection, and expected to be single flight. */
  renew?: (() => Promise<Tokens>) | undefined;
  /** Egress route of its calls; undefined for the open one. */
  egressRoute?: EgressRoute | undefined;
  /** After its abort nothing is sent, and running calls are cancelled. */
  ended?: AbortSignal | undefined;
}

/** Connects channels, and opens connected ones. */
export interface SocialProviders extends ChannelLogins {
  /** Opens a connected channel. Each operation may throw `ProviderError`, whose message never contains a secret. */
  connect(adapter: SocialAdapter, options: ConnectOptions): Social;
}

export const openSocial = (lines: Lines, options: SocialOptions): SocialProviders => ({
  ...openChannelLogins(lines, options),
  connect(adapter, { values, account, tokens, app, renew, egressRoute, ended }) {
    const secrets = [...secretsOfTokens(tokens), ...secretsOfApp(app)];
    const signer = signerOf(app, tokens);
    const line = lines.open(
      adapter,
      { ...values, ...tokens?.values },
      {
        token: signer ? undefined : tokens?.accessToken,
        app,
        secrets,
        renew: renew && (async () => (await renew()).accessToken),
        outbound: egressRoute,
        ended,
      },
    );
    const http = signer ? signedHttp(line.http, line.base, line.clock, signer) : line.http;
    const channel = adapter.connect({ ...line, http, account, app, token: tokens?.accessToken });
    return lines.guard(adapter, channel, { secrets: [...secretsOf(adapter, values), ...secrets] });
  },
});
