import { sha256Hex } from '../../platform/kernel/index.ts';
import type { Outlet } from './mail-transport.ts';

/** A version of a provider, and what it is opened with. */
interface Chosen<A> {
  adapter: A;
  values: Readonly<Record<string, string>>;
}
export interface Override extends Disposable {
  current(): Promise<Outlet | undefined>;
}

/** The outlet of settings that an operator may change at any time: asked for each mail, and opened anew only when they are others. */
export function openOverride<A extends { version: string }>({
  read,
  open,
}: {
  read: () => Promise<Chosen<A> | undefined>;
  open: (chosen: Chosen<A>) => Outlet | undefined;
}): Override {
  let last: { key: string; outlet: Outlet | undefined } | undefined;
  const close = () => last?.outlet?.mailer.close(); // what is under way ends first

  return {
    async current() {
      const chosen = await read();
      const key = chosen && sha256Hex(JSON.stringify([chosen.adapter.version, chosen.values]));
      if (last?.key === key) return last?.outlet;
      close();
      last = chosen && key !== undefined ? { key, outlet: open(chosen) } : undefined;
      return last?.outlet;
    },
    [Symbol.dispose]: close,
  };
}
