import { AppError, notFound, ProviderError, randomBase64url, sha256 } from '../../../platform/kernel/index.ts';
import { OutboundError } from '../../../platform/outbound/index.ts';
import type { SocialAdapter, Values } from '../../../providers/registry/index.ts';
import { appToLogInWith, redirectOf } from '../apps.ts';
import { sealLogin } from '../credentials.ts';
import type { ChannelsOptions } from '../deps.ts';
import { insertState } from './logins.ts';
import { channelToRefresh, type Person, STATE_MS, versionFor } from './login-channel.ts';
import { checkReturnUrl } from '../rules.ts';

export interface Begin {
  refresh?: string | undefined;
  externalUrl?: string | undefined;
  returnUrl?: string | undefined;
  allowPreview?: boolean | undefined;
}
type BeginDeps = Omit<ChannelsOptions, 'billing' | 'events'>;

const wrongAddress = (code: 'invalid_request' | 'validation_failed', fault: string, what: string, rule: string) =>
  new AppError(code, fault, { err: true, errors: [{ field: 'externalUrl', message: what, rule }] });

/** Answers the fields of a consent login: of a network with many servers, the one that the person named. */
function serverFields(
  { providers, outbound }: Pick<ChannelsOptions, 'providers' | 'outbound'>,
  adapter: SocialAdapter,
  externalUrl: string | undefined,
): Values {
  const { login } = adapter;
  if (login.kind !== 'oauth2' || !login.registerApp) return providers.fields(adapter, {});
  const field = Object.keys(adapter.credentials)[0]!;
  if (externalUrl === undefined || externalUrl === '')
    throw wrongAddress(
      'invalid_request',
      'externalUrl: the address of the server is needed',
      'externalUrl: is needed',
      'required',
    );
  const address = /^[a-z][a-z0-9+.-]*:/i.test(externalUrl) ? externalUrl : `https://${externalUrl}`;
  const fault = 'externalUrl: is not the address of a server';
  if (!URL.canParse(address)) throw wrongAddress('validation_failed', fault, fault, 'invalid_format');
  try {
    return providers.fields(adapter, { [field]: outbound.judge(address).origin });
  } catch (error) {
    throw error instanceof OutboundError ? error.ofField('externalUrl') : error;
  }
}

/**
 * Begins a login by consent or approval: answers the address of its page, with a state that is good for an hour and once
 * (S130). The page of an approval may not repeat the state, so it is answered, too.
 */
export async function beginLogin(
  deps: BeginDeps,
  person: Person,
  providerId: string,
  { refresh, externalUrl, returnUrl, allowPreview }: Begin,
): Promise<{ url: string; state?: string }> {
  const { orgId, userId } = person;
  const channel = refresh === undefined ? undefined : await channelToRefresh(deps, orgId, providerId, refresh);
  const adapter = versionFor(deps, providerId, channel, allowPreview);
  if (adapter.login.kind === 'credentials')
    throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`, {
      provider: adapter.id,
    });
  if (returnUrl !== undefined) checkReturnUrl(deps.returnUrlAllowlist, returnUrl);
  if (refresh !== undefined && !channel) throw notFound('Integration not found');
  const values = serverFields(deps, adapter, externalUrl);
  try {
    const egressRoute = await deps.egress.egressRouteOf(orgId, refresh);
    const app = await appToLogInWith(deps, orgId, adapter, values, egressRoute);
    const { url, state, kept } = await deps.providers.authorize(adapter, {
      app,
      values,
      redirectUri: redirectOf(deps, adapter.id),
      state: randomBase64url(32),
      egressRoute,
    });
    await insertState(
      deps.sql,
      {
        stateHash: sha256(state),
        orgId,
        userId,
        providerId,
        providerVersion: adapter.version,
        sealed: sealLogin(deps.vault, { values, app, kept }),
        refreshChannelId: refresh ?? null,
        returnUrl: returnUrl ?? null,
      },
      STATE_MS,
    );
    return { url, ...(adapter.login.kind === 'approval' && { state }) };
  } catch (error) {
    throw error instanceof ProviderError
      ? new AppError('invalid_request', error.message, { err: true, provider: adapter.id }, { cause: error })
      : error;
  }
}
