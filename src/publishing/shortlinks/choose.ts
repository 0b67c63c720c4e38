import type { Organizations } from '../../people/organizations/index.ts';
import type { Configured, ProviderSettings } from '../../providers/settings/index.ts';
import type { Providers, ShortlinkAdapter } from '../../providers/registry/index.ts';

/** The provider that makes the links of an organization, with whose settings. */
export interface Choice {
  adapter: ShortlinkAdapter;
  /** Null: those of the instance. */
  orgId: string | null;
  values: Configured['values'];
}
type Found = ReadonlyMap<string, Configured<ShortlinkAdapter> | undefined>;

export interface ChooseNeeds {
  organizations: Pick<Organizations, 'settings'>;
  settings: Pick<ProviderSettings, 'configured'>;
  providers: Pick<Providers, 'list'>;
}

const needsNothing = ({ setup }: ShortlinkAdapter): boolean =>
  setup !== undefined && !setup.oneOf && Object.values(setup.fields).every(({ required }) => !required);

export function openChoice({ organizations, settings, providers }: ChooseNeeds) {
  /**
   * By the settings of one provider: those of the organization, else of the instance, else none where none are needed.
   */
  async function use(orgId: string, providerId: string): Promise<Choice | undefined> {
    for (const owner of [orgId, null]) {
      const found: Found = await settings.configured(owner, 'shortlink');
      // what an organization has switched off stays off
      if (found.has(providerId)) return choiceOf(owner, found.get(providerId));
    }
    const adapter = providers.list('shortlink').find((one) => one.id === providerId);
    if (!adapter || !needsNothing(adapter)) return undefined;
    const usual = Object.entries(adapter.setup!.fields).flatMap(([name, field]) =>
      field.default === undefined ? [] : [[name, field.default]],
    );
    return { adapter, orgId, values: Object.fromEntries(usual) as Configured['values'] };
  }

  return {
    use,
    /** The one that the organization has named, else its default, else that of the instance; undefined without one. */
    async of(orgId: string): Promise<Choice | undefined> {
      const { defaultShortlinkProviderId } = await organizations.settings(orgId);
      if (defaultShortlinkProviderId !== null) return use(orgId, defaultShortlinkProviderId);
      for (const owner of [orgId, null]) {
        const found: Found = await settings.configured(owner, 'shortlink');
        const first = choiceOf(owner, [...found.values()].find(Boolean));
        if (first) return first;
      }
      return undefined;
    },
  };
}

const choiceOf = (orgId: string | null, configured: Configured<ShortlinkAdapter> | undefined): Choice | undefined =>
  configured && { adapter: configured.adapter, orgId, values: configured.values };
