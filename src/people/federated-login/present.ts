import type { Offered } from './service.ts';

/** A way to log in, for the page that offers it (S36). */
export const presentOffered = ({ adapter, name }: Offered) => ({ identifier: adapter.id, name, type: adapter.authType });
