import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { App, Login } from './_contract.ts';
import { Users } from './_wrapcast-casts.ts';

export const SignerState = z.object({ status: z.string(), fid: z.int().optional() });
/** Calls of a login send nothing by themselves. */
const keyOf = ({ clientSecret }: App) => ({ 'x-api-key': clientSecret });

/** A signer at Neynar, which a person approves. */
export const signerLogin = {
  kind: 'approval',
  /** The page hands `signer_uuid` to the window that opened it, which sends it as a parameter of the callback. */
  async begin({ http, app }) {
    const { authorization_url: url } = await http.get(
      '/login/authorize/',
      z.object({ authorization_url: z.url({ protocol: /^https$/ }) }),
      { query: { client_id: app.clientId, response_type: 'code' }, headers: keyOf(app) },
    );
    return { url };
  },
  async poll({ http, app, callback }) {
    const signer = callback['signer_uuid'];
    if (signer === undefined) return undefined;
    const headers = keyOf(app);
    const { status, fid } = await http.get('/signer/', SignerState, { query: { signer_uuid: signer }, headers });
    if (status === 'revoked') throw refused('reauthorize', 'The signer was revoked');
    if (status !== 'approved' || fid === undefined) return undefined;
    const { users } = await http.get('/user/bulk/', Users, { query: { fids: String(fid) }, headers });
    return { accessToken: signer, values: { fid: String(fid), username: users[0]?.username ?? '' } };
  },
} satisfies Login;
