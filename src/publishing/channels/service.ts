import type { AuditActor } from '../../platform/audit/index.ts';
import { bind } from '../../platform/kernel/index.ts';
import { callTool, findMentions } from './ask-network.ts';
import { dropOldChoices } from './connect/choice-store.ts';
import { dropChoice, listPages } from './connect/choose-page.ts';
import { askServerLimits, completeLogin, connectPage } from './connect/connecting.ts';
import { beginLogin } from './connect/begin-login.ts';
import { connectChannel } from './connection.ts';
import { isForChannel } from './connect/end-login.ts';
import type { ChannelsDeps, ChannelsOptions, NeedsLogin } from './deps.ts';
import { setAdditional, setGroup, setGroupByName, setPostingTimes, setShown } from './details.ts';
import { loginFacts } from './login-facts.ts';
import { dropOldStates } from './connect/logins.ts';
import {
  canBeginAlone,
  hasComments,
  listNetworks,
  networksThatPrepare,
  postingRules,
  rulesOfChannel,
  rulesOfNetwork,
} from './networks.ts';
import {
  adapterOfChannel,
  findChannels,
  getChannel,
  getWithChoices,
  listChannels,
  listWithChoices,
} from './reading.ts';
import { tellExpiring } from './expiring.ts';
import { renewIdle } from './renew-idle.ts';
import { removeChannel } from './revocation.ts';
import { customersOfOrg } from './customer-store.ts';
import { disable, enable } from './transitions/disable.ts';
import { requireLogin } from './transitions/require-login.ts';
import { findUpgrade, upgradeChannel } from './upgrade.ts';

export type Channels = ReturnType<typeof openChannels>;

/** Opens the channels room. */
export function openChannels(options: ChannelsOptions) {
  const { sql, events } = options;
  /** `seen`: the sealed login that was refused; a newer one is left alone. */
  const needsLogin: NeedsLogin = async (orgId, channelId, reason, seen) => {
    const held = await requireLogin(sql, orgId, channelId, reason, seen);
    if (held) events?.channelNeedsLogin({ orgId, channelId, reason });
    return held;
  };
  const deps: ChannelsDeps = { ...options, needsLogin, underWay: new Map() };

  return {
    ...bind(deps, {
      networks: listNetworks,
      canBeginAlone,
      rulesOf: rulesOfChannel,
      postingRules,
      rules: rulesOfNetwork,
      hasComments,
      preparing: networksThatPrepare,
      list: listChannels,
      get: getChannel,
      listWithChoices,
      getWithChoices,
      find: findChannels,
      adapterOf: adapterOfChannel,
      begin: beginLogin,
      isForChannel,
      complete: completeLogin,
      pages: listPages,
      connectPage,
      dropChoice,
      callTool,
      findMentions,
      connect: connectChannel,
      loginFacts,
      remove: removeChannel,
      askServerLimits,
      renewIdle,
      tellExpiring,
      nameCustomer: setGroupByName,
      setCustomer: setGroup,
      setTimes: setPostingTimes,
      setAdditional,
      setShown,
      findUpgrade,
      upgrade: upgradeChannel,
    }),
    // Transitions of the Channel actor: each one conditional statement over the channel and the posts that wait in it;
    // true when it held, and then noted as `by`.
    enable: (orgId: string, id: string, by?: AuditActor) => enable(sql, options, orgId, id, by),
    disable: (orgId: string, id: string, by?: AuditActor) => disable(sql, orgId, id, by),
    needsLogin,

    customers: (orgId: string) => customersOfOrg(sql, orgId),
    /** Forgets at most `limit` logins that were begun and not ended in time; answers how many. */
    dropOldLogins: (limit: number) => dropOldStates(sql, limit),
    /** Forgets at most `limit` logins whose page nobody chose within a day; answers how many. */
    dropOldChoices: (limit: number) => dropOldChoices(sql, limit),
  };
}
