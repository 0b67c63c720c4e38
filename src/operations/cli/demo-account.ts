import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type CallAnswer, call } from './call.ts';
import { StartError } from './running.ts';

/** An answer that refuses. */
export const Problem = z.object({
  message: z.string().optional(),
  msg: z.string().optional(),
  code: z.string().optional(),
});
const Account = z.object({ email: z.string(), password: z.string() });
const Tokens = z.object({ accessToken: z.string() });

/** What an answer says about why it refuses. */
export const reason = ({ body, text }: CallAnswer): string => {
  const problem = Problem.safeParse(body);
  return (problem.success && (problem.data.message ?? problem.data.msg)) || text.slice(0, 200) || 'no body';
};

/** Reads the accounts that earlier runs have kept, by the address of the service. */
const accountsIn = async (file: string): Promise<Record<string, z.output<typeof Account>>> =>
  z
    .record(z.string(), Account)
    .catch({})
    .parse(
      await readFile(file, 'utf8')
        .then((text): unknown => JSON.parse(text))
        .catch(() => ({})),
    );

/** Deletes the account of this run; answers a sentence about it for whoever reads why the demo failed. */
export async function signOff(root: string, file: string, headers: Record<string, string>): Promise<string> {
  const { [root]: account, ...others } = await accountsIn(file);
  const answer = await call('DELETE', `${root}/user`, { headers, body: { password: account?.password } });
  if (answer.status >= 300) return ` The account ${account?.email} is left there: ${reason(answer)}`;
  await writeFile(file, JSON.stringify(others, null, 2), { mode: 0o600 });
  return ' The account of the demo is deleted again.';
}

/**
 * The account of an earlier run on this service when it still works, else a new one, with a password that is kept here
 * and nowhere else.
 */
export async function signIn(root: string, file: string): Promise<{ email: string; token: string; made: boolean }> {
  const accounts = await accountsIn(file);
  const known = accounts[root];
  if (known) {
    const answer = await call('POST', `${root}/auth/login`, {
      body: { provider: 'LOCAL', ...known, returnToken: true },
    });
    const tokens = Tokens.safeParse(answer.body);
    if (answer.status === 200 && tokens.success)
      return { email: known.email, token: tokens.data.accessToken, made: false };
    if (answer.status !== 400) throw new StartError(`The login answered ${answer.status}: ${reason(answer)}`);
  }
  const account = {
    email: `demo-${randomBytes(4).toString('hex')}@example.com`,
    password: randomBytes(16).toString('base64url'),
  };
  const answer = await call('POST', `${root}/auth/register`, {
    body: { provider: 'LOCAL', ...account, company: 'Rookery demo', returnToken: true },
  });
  const tokens = Tokens.safeParse(answer.body);
  if (z.object({ activate: z.literal(true) }).safeParse(answer.body).success)
    throw new StartError(
      'Addresses are confirmed by mail here, and the demo has no mailbox: run it against an instance without EMAIL_PROVIDER. Its registration opens nothing and is forgotten after seven days.',
    );
  if (answer.status >= 300 || !tokens.success)
    throw new StartError(`The sign-up answered ${answer.status}: ${reason(answer)}`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ ...accounts, [root]: account }, null, 2), { mode: 0o600 });
  return { email: account.email, token: tokens.data.accessToken, made: true };
}
