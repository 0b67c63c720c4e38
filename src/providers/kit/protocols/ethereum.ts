import { z } from 'zod';
import { refused } from '../declare/fallback.ts';
import type { Http } from '../wire/http.ts';

// Sign-In with Ethereum (EIP-4361), and its calls to a node.

/** A complete, well-formed message; times as dates. */
export interface SignInMessage {
  domain: string;
  address: `0x${string}`;
  uri: string;
  chainId: number;
  nonce: string;
  issuedAt: Date;
  expirationTime?: Date | undefined;
  notBefore?: Date | undefined;
  statement?: string | undefined;
  resources?: readonly string[] | undefined;
}
/** The expected values of a message: our nonce, our addresses, our chain, the current time. */
export interface Expected {
  nonce: string;
  origins: readonly string[];
  chainId: number;
  now: Date;
}

const MOST_CHARACTERS = 4_096;
const LEEWAY_MS = 60_000;
const LONGEST_MS = 15 * 60_000;
const TIMES = /^(Issued At|Expiration Time|Not Before): (.+)$/gm;

const siwe = () => import('viem/siwe');
const tools = () => import('viem');

/**
 * Parses a message. Only one in canonical form is accepted: writing its fields again yields the same text. Undefined
 * for anything else.
 */
export async function readSignIn(text: string): Promise<SignInMessage | undefined> {
  if (text.length > MOST_CHARACTERS) return undefined;
  const { createSiweMessage, parseSiweMessage } = await siwe();
  try {
    const parsed = parseSiweMessage(text);
    const written = createSiweMessage(parsed as Parameters<typeof createSiweMessage>[0]);
    const inOneForm = text.replace(TIMES, (_, name: string, at: string) => `${name}: ${new Date(at).toISOString()}`);
    return written === inOneForm && parsed.scheme === undefined ? (parsed as SignInMessage) : undefined;
  } catch {
    return undefined; // a malformed field
  }
}

/** Answers whether the message was made for this login and is valid now. */
export function fits(
  { domain, uri, chainId, nonce, issuedAt, expirationTime, notBefore }: SignInMessage,
  expected: Expected,
): boolean {
  const now = expected.now.getTime();
  return (
    nonce === expected.nonce &&
    chainId === expected.chainId &&
    expected.origins.some(
      (origin) => new URL(origin).host === domain && URL.parse(uri)?.origin === new URL(origin).origin,
    ) &&
    issuedAt.getTime() <= now + LEEWAY_MS &&
    issuedAt.getTime() > now - LONGEST_MS &&
    (!expirationTime || expirationTime.getTime() > now) &&
    (!notBefore || notBefore.getTime() <= now + LEEWAY_MS)
  );
}

/** Writes the text for a wallet to sign; undefined when the address is invalid. */
export async function writeSignIn(message: SignInMessage): Promise<string | undefined> {
  const [{ createSiweMessage }, { getAddress, isAddress }] = [await siwe(), await tools()];
  if (!isAddress(message.address, { strict: false })) return undefined;
  const { resources, statement, expirationTime, ...needed } = message;
  return createSiweMessage({
    ...needed,
    address: getAddress(message.address),
    version: '1',
    ...(statement !== undefined && { statement }),
    ...(expirationTime && { expirationTime }),
    ...(resources && { resources: [...resources] }),
  });
}

const Answer = z.object({ result: z.string().regex(/^0x[0-9a-fA-F]*$/) });
const Refusal = z.object({ error: z.object({ code: z.int() }) });
/** The error of a node for a call that was executed and reverted. */
const REVERTED = [3, -32_000];
type Hex = `0x${string}`;

/** Calls a node by JSON-RPC; undefined for a call that reverts. Any other error of the node is `rejected`. */
async function askChain(http: Http, method: string, params: readonly unknown[]): Promise<Hex | undefined> {
  const reply = await http.post('', z.union([Answer, Refusal]), { json: { jsonrpc: '2.0', id: 1, method, params } });
  if ('result' in reply) return reply.result as Hex;
  if (REVERTED.includes(reply.error.code)) return undefined;
  throw refused('rejected', `The chain refused ${method} (${reply.error.code})`);
}
const callChain = (http: Http, to: Hex, data: Hex) => askChain(http, 'eth_call', [{ to, data }, 'latest']);

const CONTRACT_WALLET = [
  {
    type: 'function',
    name: 'isValidSignature',
    stateMutability: 'view',
    inputs: [
      { name: 'hash', type: 'bytes32' },
      { name: 'signature', type: 'bytes' },
    ],
    outputs: [{ type: 'bytes4' }],
  },
] as const;
const MAGIC = '0x1626ba7e';

/**
 * Answers whether the key of this address signed the text (EIP-191), or, with a node, whether the contract at this
 * address confirms it (ERC-1271).
 */
export async function isSigned(
  text: string,
  signature: string,
  address: Hex,
  http: Http | undefined,
): Promise<boolean> {
  const { encodeFunctionData, hashMessage, isAddressEqual, isHex, recoverMessageAddress } = await tools();
  if (!isHex(signature) || signature.length > 2 * MOST_CHARACTERS) return false;
  // not a signature of a key
  const signer = await recoverMessageAddress({ message: text, signature }).catch(() => undefined);
  if (signer && isAddressEqual(signer, address)) return true;
  if (!http) return false;
  const data = encodeFunctionData({ abi: CONTRACT_WALLET, args: [hashMessage(text), signature] });
  const said = await callChain(http, address, data);
  return said?.length === 66 && said.startsWith(MAGIC);
}

/** Answers the id of the chain that a node serves. */
export const chainOf = async (http: Http): Promise<number> => Number(await askChain(http, 'eth_chainId', []));

const ID_REGISTRY = [
  {
    type: 'function',
    name: 'idOf',
    stateMutability: 'view',
    inputs: [{ name: 'owner', type: 'address' }],
    outputs: [{ name: 'fid', type: 'uint256' }],
  },
] as const;

/** Answers the id that an account registry has for the address; 0 when it has none. */
export async function accountIdOf(http: Http, registry: Hex, address: Hex): Promise<bigint> {
  const { encodeFunctionData } = await tools();
  const said = await callChain(http, registry, encodeFunctionData({ abi: ID_REGISTRY, args: [address] }));
  return said?.length === 66 ? BigInt(said) : 0n;
}
