import type { Command } from 'commander';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { RefusedError, UsageError } from '../exit.ts';
import { countOf, readBytes } from '../input.ts';
import type { Session } from '../session.ts';

interface Options {
  id: string;
  timestamp: number;
  signature: string;
  tolerance: number;
}

export function addVerify(webhooks: Command, session: Session): void {
  webhooks
    .command('verify')
    .description('Check the signature of a delivery with the secret in ROOKERY_WEBHOOK_SECRET.')
    .argument('<body>', 'file with the body as it came; - reads it from the standard input')
    .requiredOption('--id <id>', 'header webhook-id')
    .requiredOption('--timestamp <seconds>', 'header webhook-timestamp', countOf)
    .requiredOption('--signature <values>', 'header webhook-signature')
    .option('--tolerance <seconds>', 'no older, and no further ahead', countOf, 300)
    .action(async (file: string, { id, timestamp, signature, tolerance }: Options) => {
      const secret = session.env['ROOKERY_WEBHOOK_SECRET'];
      const key = Buffer.from(secret?.replace(/^whsec_/, '') ?? '', 'base64');
      if (!secret || key.length === 0)
        throw new UsageError('Set ROOKERY_WEBHOOK_SECRET to the secret of the webhook (whsec_…)');
      session.output.hide(secret);
      const body = await readBytes(session, file);
      const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
      const isRight = (value: string) => {
        const given = Buffer.from(value.slice('v1,'.length), 'base64');
        return value.startsWith('v1,') && given.length === wanted.length && timingSafeEqual(given, wanted);
      };
      // two of them for a day after the secret was changed
      if (!signature.split(' ').some(isRight)) throw new RefusedError('The signature is wrong');
      const age = Math.abs(new Date().getTime() / 1_000 - timestamp);
      if (age > tolerance) throw new RefusedError(`The signature is right, but ${Math.round(age)} s away from now`);
      session.output.one({ valid: true, id }, [['valid', () => 'yes']]);
    });
}
