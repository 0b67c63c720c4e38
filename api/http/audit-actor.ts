import type { AuditActor } from '../../src/platform/audit/index.ts';
import type { Principal, Request } from './route.ts';

interface Somebody {
  principal: Principal;
  request: Request;
}
interface Anybody {
  principal?: Principal | undefined;
  request: Request;
}

/** The person or client of this request, for the audit log. */
export function auditActor(call: Somebody): AuditActor & { userId: string };
export function auditActor(call: Anybody): AuditActor;
export function auditActor({ principal, request }: Anybody): AuditActor {
  return { userId: principal?.userId ?? null, impersonatorId: principal?.impersonatorId ?? null, ip: request.ip };
}
