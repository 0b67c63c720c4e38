import type { Clock } from '../../platform/kernel/index.ts';
import type { Fields, Values, ValuesOf } from '../kit/declare/fields.ts';
import type { App, OAuth2, Tokens } from '../kit/protocols/oauth.ts';
import type { OAuth1 } from '../kit/protocols/oauth1.ts';
import type { Http } from '../kit/wire/http.ts';

/** What the steps of an approval are handed. `callback`: the parameters that the network sent back, where it does. */
export interface Approving<F extends Fields = Fields> {
  http: Http;
  clock: Clock;
  app: App;
  values: ValuesOf<F>;
}
/**
 * The way to connect a channel: by consent at the network, by an approval that is not OAuth, or by typed fields. The
 * addresses of `oauth2` are paths of `api`, or absolute with `{field}` or `{host}` (`hosts`).
 */
export type Login<F extends Fields = Fields> =
  | (OAuth2 & {
      kind: 'oauth2';
      /** Used with an app that has a consumer key and no client id (X). */
      oauth1?: OAuth1;
      /** Registers an app, where a network has many servers and the person names one. */
      registerApp?: (call: {
        http: Http;
        redirectUri: string;
        scopes: readonly string[];
        appName: string;
      }) => Promise<App>;
    })
  | {
      kind: 'approval';
      /**
       * Answers the address where the person approves, and what `poll` needs: a login request (MeWe), a signer (Farcaster),
       * a word to be sent to a bot (Telegram). `state` comes back where the network calls `redirectUri`.
       */
      begin: (
        call: Approving<F> & { redirectUri: string; state: string },
      ) => Promise<{ url: string; kept?: Values | undefined }>;
      /** Asks whether the person has approved; undefined: not yet. A refusal is `reauthorize`. */
      poll: (call: Approving<F> & { kept: Values; callback: Values }) => Promise<Tokens | undefined>;
    }
  | {
      kind: 'credentials';
      /** Exchanges the typed fields for tokens; absent where the fields are used as they are. */
      signIn?: (call: { http: Http; values: ValuesOf<F>; clock: Clock }) => Promise<Tokens>;
      /**
       * Renews tokens; a refusal is `reauthorize`. `http` sends no token by itself; its base follows `tokens.values`,
       * `values` are as typed.
       */
      refresh?: (call: { http: Http; values: ValuesOf<F>; tokens: Tokens; clock: Clock }) => Promise<Tokens>;
    };
