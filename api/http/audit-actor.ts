import type { Doer } from '../../src/platform/audit/index.ts';
import type { Principal, Request } from './route.ts';

interface Somebody {
  principal: Principal;
  request: Request;
}
interface Anybody {
  principal?: Principal | undefined;
  request: Request;
}

/** Who acts in this request, for the audit log. */
export function doer(call: Somebody): Doer & { userId: string };
export function doer(call: Anybody): Doer;
export function doer({ principal, request }: Anybody): Doer {
  return { userId: principal?.userId ?? null, impersonatorId: principal?.impersonatorId ?? null, ip: request.ip };
}
