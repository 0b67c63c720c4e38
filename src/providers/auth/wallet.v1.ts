import { chainOf, fits, isSigned, readSignIn, writeSignIn } from '../kit/protocols/ethereum.ts';
import { refused } from '../kit/declare/fallback.ts';
import { text } from '../kit/declare/fields.ts';
import { auth } from './_contract.ts';
import { notBelieved } from './_people.ts';

const SIGNED_MS = 10 * 60_000;

/** Sign-In with Ethereum (EIP-4361). One chain only: a contract may have other owners on another chain. */
export default auth({
  id: 'wallet',
  version: 'v1',
  status: 'active',
  title: 'Crypto wallet',
  description: 'Login with a wallet that signs a readable message (Sign-In with Ethereum).',
  website: 'https://login.xyz',
  authType: 'wallet',
  credentials: {
    chainId: text('Chain id', { required: false, default: '1', validation: '[1-9][0-9]{0,14}' }),
    rpcUrl: text('RPC address', {
      form: 'url',
      required: false,
      help: 'Needed for wallets that are contracts (ERC-1271)',
    }),
  },
  api: '{rpcUrl}',
  by: 'proof',
  connect({ http, base, values, clock }) {
    const chainId = Number(values.chainId);
    return {
      by: 'proof',
      async message({ nonce, origins, address }) {
        const [origin] = origins;
        const now = clock.now();
        return writeSignIn({
          domain: new URL(origin!).host,
          address: address as `0x${string}`,
          uri: origin!,
          chainId,
          nonce,
          issuedAt: now,
          expirationTime: new Date(now.getTime() + SIGNED_MS),
        });
      },
      async verify({ message, signature, nonce, origins }) {
        const said = await readSignIn(message);
        if (!said || !fits(said, { nonce, origins, chainId, now: clock.now() })) throw notBelieved();
        if (!(await isSigned(message, signature, said.address, base ? http : undefined))) throw notBelieved();
        const address = said.address.toLowerCase();
        return {
          providerId: `eip155:${chainId}:${address}`,
          email: null,
          name: `${address.slice(0, 6)}…${address.slice(-4)}`,
          avatarUrl: null,
        };
      },
    };
  },
  async check({ http, base, values }) {
    if (base && (await chainOf(http)) !== Number(values.chainId))
      throw refused('rejected', `The RPC address serves another chain than ${values.chainId}`);
  },
});
