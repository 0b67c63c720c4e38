import type { SessionActor } from '../../src/people/auth/index.ts';
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

/** The person of this request, by a session, for what a session that ends meanwhile must not make. */
export const sessionActor = (call: Somebody): SessionActor => ({
  ...auditActor(call),
  sessionId: call.principal.sessionId!,
});

/** The person or client of this request, for the audit log. */
export function auditActor(call: Somebody): AuditActor & { userId: string };
export function auditActor(call: Anybody): AuditActor;
export function auditActor({ principal, request }: Anybody): AuditActor {
  return { userId: principal?.userId ?? null, impersonatorId: principal?.impersonatorId ?? null, ip: request.ip };
}
