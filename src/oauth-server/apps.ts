import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import { SCOPES } from '../people/access/index.ts';
import type { Database } from '../platform/db/index.ts';
import { AppError, invalidField, isId, newId, notFound, randomBase62, sha256 } from '../platform/kernel/index.ts';
import { mayRegister } from './redirects.ts';
import * as store from './store.ts';

export interface NewApp {
  name: string;
  description: string;
  pictureId: string | null;
  redirectUrl: string;
}

/** The one app that an org may have. Its secret is shown when it is made and when it is rotated. */
export interface Apps {
  find(orgId: string): Promise<store.AppRow | undefined>;
  create(orgId: string, by: AuditActor, app: NewApp): Promise<{ app: store.AppRow; clientSecret: string }>;
  update(orgId: string, by: AuditActor, change: store.AppChange): Promise<store.AppRow>;
  /** The old secret dies at once. */
  rotateSecret(orgId: string, by: AuditActor): Promise<string>;
  remove(orgId: string, by: AuditActor): Promise<void>;
}

const unknown = () => notFound('This organization has no OAuth app');

export function openApps({ sql, forgetAll }: { sql: Database; forgetAll: () => void }): Apps {
  const note = (tx: Parameters<typeof writeAudit>[0], by: AuditActor, orgId: string, resourceId: string, act: string) =>
    writeAudit(tx, by, { orgId, action: `oauth_app.${act}`, resource: 'oauth_apps', resourceId });

  async function judge(orgId: string, { pictureId, redirectUrl }: store.AppChange): Promise<void> {
    if (redirectUrl !== undefined && !mayRegister(redirectUrl))
      throw invalidField(
        'redirectUrl',
        'an https address, http on loopback or a scheme of your own, without a fragment',
        'invalid_format',
      );
    if (pictureId != null && !(isId(pictureId) && (await store.isPicture(sql, orgId, pictureId))))
      throw invalidField('pictureId', 'no such picture', 'unknown_id');
  }
  const found = async (orgId: string) => {
    const app = await store.appOf(sql, orgId);
    if (!app) throw unknown();
    return app;
  };

  return {
    find: (orgId) => store.appOf(sql, orgId),

    async create(orgId, by, { redirectUrl, ...app }) {
      await judge(orgId, { pictureId: app.pictureId, redirectUrl });
      const id = newId();
      const clientSecret = `pcs_${randomBase62(43)}`;
      const client = {
        ...app,
        id,
        orgId,
        clientId: `pca_${randomBase62(24)}`,
        secretHash: sha256(clientSecret),
        redirectUris: [redirectUrl],
        scope: SCOPES,
      };
      await sql.begin(async (tx) => {
        if (!(await store.insertClient(tx, client)))
          throw new AppError('oauth_app_exists', 'This organization has an OAuth app already');
        await note(tx, by, orgId, id, 'created');
      });
      return { app: await found(orgId), clientSecret };
    },

    async update(orgId, by, change) {
      await judge(orgId, change);
      await sql.begin(async (tx) => {
        const id = await store.updateApp(tx, orgId, change);
        if (id === undefined) throw unknown();
        await note(tx, by, orgId, id, 'updated');
      });
      return found(orgId);
    },

    async rotateSecret(orgId, by) {
      const clientSecret = `pcs_${randomBase62(43)}`;
      await sql.begin(async (tx) => {
        const id = await store.updateSecret(tx, orgId, sha256(clientSecret));
        if (id === undefined) throw unknown();
        await note(tx, by, orgId, id, 'secret_rotated');
      });
      return clientSecret;
    },

    async remove(orgId, by) {
      await sql.begin(async (tx) => {
        const id = await store.deleteApp(tx, orgId);
        if (id === undefined) throw unknown();
        await note(tx, by, orgId, id, 'deleted');
      });
      forgetAll();
    },
  };
}
