import { ProviderError } from '../../platform/kernel/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import { isAddress } from '../kit/protocols/mailbox.ts';
import { type Lines, secretsOf } from '../kit/wire/open-line.ts';
import type { EmailAdapter, Mailer, ReadReport } from './_contract.ts';

/** Opens a mail provider; undefined for the one that sends nothing. The caller closes its connections. */
export const openMailer =
  (lines: Lines) =>
  (adapter: EmailAdapter, values: Values): Mailer | undefined => {
    if (!adapter.connect) return undefined;
    const mailer = adapter.connect(lines.open(adapter, values, { owner: null }));
    const send: Mailer['send'] = (message) =>
      isAddress(message.to)
        ? mailer.send(message)
        : Promise.reject(new ProviderError('rejected', 'This is not the address of one person')); // some providers would read a list
    return lines.guard(adapter, { ...mailer, send }, { secrets: secretsOf(adapter, values) });
  };

/**
 * Opens the reader of delivery events; undefined for a provider without events. Without its key every request is
 * refused.
 */
export const openReports =
  (lines: Lines) =>
  (adapter: EmailAdapter, values: Values): ReadReport | undefined => {
    if (!adapter.events) return undefined;
    return values[adapter.events.key]
      ? adapter.events.open(lines.open(adapter, values, { owner: null }))
      : async () => undefined;
  };
