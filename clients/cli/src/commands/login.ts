import type { Command } from 'commander';
import { dataOf, type Rookery, RookeryError, UnreachableError } from '../../../typescript/src/index.ts';
import { CredentialError, UsageError } from '../exit.ts';
import { readText } from '../input.ts';
import type { Session } from '../session.ts';
import { pause } from '../pause.ts';
import { selfColumns } from './whoami.ts';

export function addLogin(program: Command, session: Session): void {
  program
    .command('login')
    .description('Log in by a code that you confirm in a browser, or with an API key.')
    .option('--key <key>', 'an API key instead of a browser; - reads it from the standard input')
    .action(async ({ key }: { key?: string }) => {
      const url = await session.findUrl();
      if (url === undefined) throw new UsageError('login needs --url <url> or ROOKERY_URL');
      const given = key === '-' ? (await readText(session, '-')).trim() : key;
      if (given === '') throw new UsageError('The key is empty');
      const kept = given ?? (await keyByDevice(session, session.clientOf(url)));
      const self = await session.clientOf(url, kept).me();
      await session.profiles.keep(session.profileName(), { url, key: kept });
      session.output.say(`Logged in; the profile ${session.profileName()} is in ${session.profiles.file}`);
      session.output.one(self, selfColumns);
    });
}

const WAITING = new Set(['authorization_pending', 'slow_down']);
const isAway = (error: unknown) =>
  error instanceof UnreachableError || (error instanceof RookeryError && error.status >= 500);

/** Shows a code and waits until somebody confirms or denies it (RFC 8628). */
async function keyByDevice({ output, signal }: Session, rookery: Rookery): Promise<string> {
  const device = await dataOf(rookery.api.POST('/device/code', { body: {} }));
  output.say(`Open ${device.verification_uri} and enter the code ${device.user_code}`);
  let seconds = device.interval;
  let away: unknown;
  for (let waited = 0; waited < device.expires_in; waited += seconds) {
    await pause(seconds * 1_000, signal);
    try {
      const body = { device_code: device.device_code };
      return (await dataOf(rookery.api.POST('/device/token', { body }))).access_token;
    } catch (error) {
      away = isAway(error) ? error : undefined;
      if (away) {
        seconds *= 2; // it may be back before the code expires (RFC 8628, 3.5)
        continue;
      }
      const reason = error instanceof RookeryError ? (error.body.error ?? '') : '';
      if (reason === 'slow_down') seconds += 5;
      if (!WAITING.has(reason)) throw reason === '' ? error : new CredentialError((error as Error).message);
    }
  }
  throw away ?? new CredentialError('Nobody confirmed the code in time');
}
