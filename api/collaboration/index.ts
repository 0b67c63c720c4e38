import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context } from '../../src/context.ts';
import { isCollaboration } from './address.ts';

/** The websocket of co-editing, loaded by the first upgrade. */
export function openCollaboration(context: Context) {
  let server: ReturnType<typeof load> | undefined;
  const load = async () => (await import('./server.ts')).openCollaborationServer(context);

  return {
    /** Says whether a request is a wish to open a room. Any other upgrade is not followed. */
    isUpgrade: ({ headers, url, method }: IncomingMessage): boolean =>
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && isCollaboration(url ?? ''),
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      server ??= load();
      server
        .then(({ upgrade }) => upgrade(request, socket, head))
        .catch((error: unknown) => {
          server = undefined; // what could not be loaded is loaded again
          socket.destroy();
          context.logs.of('collaboration').error({ err: error }, 'a websocket could not be opened');
        });
    },
    drain: async (): Promise<void> => (await server)?.drain(),
  };
}
