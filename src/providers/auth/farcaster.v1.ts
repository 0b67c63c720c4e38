import { accountIdOf, chainOf, fits, isSigned, readSignIn } from '../kit/protocols/ethereum.ts';
import { refused } from '../kit/declare/fallback.ts';
import { text } from '../kit/declare/fields.ts';
import { auth } from './_contract.ts';
import { notBelieved } from './_people.ts';

const OP_MAINNET = 10;
const ID_REGISTRY = '0x00000000Fc6c5F01Fc30151999387Bb99A9f489b'; // on OP Mainnet
const STATEMENTS = ['Farcaster Auth', 'Farcaster Connect']; // the older one is still sent
const RESOURCE = /^farcaster:\/\/fid\/([1-9]\d{0,18})$/;

/**
 * Sign In With Farcaster (FIP-11): the custody address of an account signs a message. Nothing else that a relay sends
 * is proven.
 */
export default auth({
  id: 'farcaster',
  version: 'v1',
  status: 'active',
  title: 'Farcaster',
  description: 'Login with a Farcaster account, proven by a signature of its custody address.',
  website: 'https://farcaster.xyz',
  authType: 'wallet',
  credentials: {
    rpcUrl: text('RPC address of OP Mainnet', {
      form: 'url',
      required: false,
      default: 'https://mainnet.optimism.io',
      help: 'Says which account an address has the custody of',
    }),
  },
  api: '{rpcUrl}',
  by: 'proof',
  connect: ({ http, clock }) => ({
    by: 'proof',
    message: async () => undefined, // the relay writes it
    async verify({ message, signature, nonce, origins }) {
      const said = await readSignIn(message);
      if (!said || !fits(said, { nonce, origins, chainId: OP_MAINNET, now: clock.now() })) throw notBelieved();
      const fid = said.resources?.length === 1 ? RESOURCE.exec(said.resources[0]!)?.[1] : undefined;
      if (!fid || !STATEMENTS.includes(said.statement ?? '')) throw notBelieved();
      if (!(await isSigned(message, signature, said.address, http))) throw notBelieved();
      if ((await accountIdOf(http, ID_REGISTRY, said.address)) !== BigInt(fid)) throw notBelieved();
      return { providerId: fid, email: null, name: `farcaster ${fid}`, avatarUrl: null };
    },
  }),
  async check({ http }) {
    if ((await chainOf(http)) !== OP_MAINNET)
      throw refused('rejected', 'The RPC address does not serve OP Mainnet (chain 10)');
  },
});
