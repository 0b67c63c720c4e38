import { sha256Hex } from '../../platform/kernel/index.ts';
import type { MailTransport } from './mail-transport.ts';

/** A version of a provider, and what it is opened with. */
interface Chosen<A> {
  adapter: A;
  values: Readonly<Record<string, string>>;
}
export interface Override extends Disposable {
  current(): Promise<MailTransport | undefined>;
}

/**
 * The transport of settings that an operator may change at any time: asked for each mail, and opened anew only when
 * they are others.
 */
export function openOverride<A extends { version: string }>({
  read,
  open,
}: {
  read: () => Promise<Chosen<A> | undefined>;
  open: (chosen: Chosen<A>) => MailTransport | undefined;
}): Override {
  let last: { key: string; transport: MailTransport | undefined } | undefined;
  const close = () => last?.transport?.mailer.close(); // what is under way ends first

  return {
    async current() {
      const chosen = await read();
      const key = chosen && sha256Hex(JSON.stringify([chosen.adapter.version, chosen.values]));
      if (last?.key === key) return last?.transport;
      close();
      last = chosen && key !== undefined ? { key, transport: open(chosen) } : undefined;
      return last?.transport;
    },
    [Symbol.dispose]: close,
  };
}
