import { type MailBody, layOut, type MailPart, type Rendered, type Site } from './layout.ts';
import type { MailContent, Template } from './templates.ts';
import { plain, plainLines, say, when } from './escaping.ts';

type DataOf<T extends Template> = Extract<MailContent, { template: T }>['data'];
type Templates = { readonly [T in Template]: (data: DataOf<T>, site: Site) => MailBody };

const hello = (name: string): MailPart => (name.trim() === '' ? 'Hello,' : say`Hello ${name},`);
const MOST_NAMED = 20;
const notYou =
  'If that was not you, somebody may know your password: set a new one, and write to whoever runs this service.';

const TEMPLATES: Templates = {
  activation: ({ name, url }, site) => ({
    subject: say`Activate your account at ${site.name}`,
    parts: [
      hello(name),
      say`someone, most likely you, has registered this address at ${site.name}. The link works once, for 24 hours.`,
      { button: 'Activate the account', url },
      'If it was not you, do nothing: without this step the account stays closed.',
    ],
  }),
  'address-known': ({ name, loginUrl }, site) => ({
    subject: say`You have an account at ${site.name} already`,
    parts: [
      hello(name),
      say`someone, most likely you, tried to register this address at ${site.name}. It belongs to your account, so nothing was changed.`,
      { button: 'Log in', url: loginUrl },
      'On that page you can also set a new password. If it was not you, there is nothing to do.',
    ],
  }),
  'password-reset': ({ name, url }, site) => ({
    subject: say`Set a new password at ${site.name}`,
    parts: [
      hello(name),
      'someone, most likely you, asked for a new password. The link works once, for one hour.',
      { button: 'Set a new password', url },
      'If it was not you, do nothing: your password stays as it is.',
    ],
  }),
  'password-changed': ({ name, opens = [] }, site) => ({
    subject: say`Your password at ${site.name} was changed`,
    parts: [
      hello(name),
      'your password was changed just now, and other devices were logged out.',
      opens.length === 0
        ? 'No API key and no app opens your account.'
        : 'These open your account still. Revoke those that you do not know:',
      ...(opens.length === 0 ? [] : [{ quote: opens.slice(0, MOST_NAMED).map(plain) }]),
      ...(opens.length > MOST_NAMED ? [`And ${opens.length - MOST_NAMED} more.`] : []),
      notYou,
    ],
  }),
  'key-made': ({ name, keyName, prefix, orgName, expiresAt, device }, site) => ({
    subject: say`A new API key of yours at ${site.name}`,
    parts: [
      hello(name),
      say`an API key called ${keyName} was made, with all your rights in the organization ${orgName}. It begins with ${prefix}.`,
      ...(device === undefined ? [] : [say`It is for a device that was approved in your name, at ${device}.`]),
      expiresAt === null ? 'It has no end.' : `It ends on ${when(expiresAt)}.`,
      'If that was not you, revoke the key and set a new password.',
    ],
  }),
  'email-change': ({ name, url, newEmail, oldEmail }, site) => ({
    subject: say`Confirm your new address at ${site.name}`,
    parts: [
      hello(name),
      oldEmail === undefined
        ? say`your account is to have the address ${newEmail} from now on. It changes when you confirm it.`
        : say`the account of ${oldEmail} is to have the address ${newEmail} from now on. It changes when you confirm it, logged in to that account.`,
      { button: 'Confirm this address', url },
      'If that is not your account, or you did not ask for it, do nothing.',
    ],
  }),
  'email-changing': ({ name, newEmail }, site) => ({
    subject: say`The address of your account at ${site.name} is to change`,
    parts: [
      hello(name),
      say`someone, most likely you, asked that your account has the address ${newEmail} from now on. That address has to confirm it first.`,
      notYou,
    ],
  }),
  invitation: ({ orgName, inviterName, roleName, url, expiresAt }, site) => ({
    subject: say`${inviterName} invites you to ${orgName}`,
    parts: [
      'Hello,',
      say`${inviterName} invites you to the organization ${orgName} at ${site.name}, as ${roleName}.`,
      { button: 'Accept the invitation', url },
      `The invitation is open until ${when(expiresAt)}. If you do not know the sender, do nothing.`,
    ],
  }),
  'subscription-cancelled': ({ orgName, orgId, userEmail, feedback, endsAt }) => ({
    subject: say`Subscription cancelled: ${orgName}`,
    parts: [
      say`The organization ${orgName} (${orgId}) has cancelled its subscription, by ${userEmail}.`,
      endsAt === null ? 'It ended at once.' : `It ends on ${when(endsAt)}.`,
      ...(feedback.trim() === ''
        ? ['No reason was given.']
        : ['The reason that was given:', { quote: plainLines(feedback.trim()) }]),
    ],
  }),
  'payment-failed': ({ orgName, url, graceEndsAt }, site) => ({
    subject: say`The payment for ${orgName} at ${site.name} has failed`,
    parts: [
      'Hello,',
      say`the payment for the organization ${orgName} has failed.`,
      `Everything goes on until ${when(graceEndsAt)}; from then on queued posts are paused and API keys refused until it is paid.`,
      { button: 'See the billing page', url },
    ],
  }),
  'subscription-lapsed': ({ orgName, url }, site) => ({
    subject: say`The subscription of ${orgName} at ${site.name} is suspended`,
    parts: [
      'Hello,',
      say`the payment for the organization ${orgName} is still open, and the time to pay it is over.`,
      'Queued posts are paused and API keys refused. Nothing was deleted: all of it goes on once it is paid.',
      { button: 'See the billing page', url },
    ],
  }),
  'card-refused': ({ orgName, url }, site) => ({
    subject: say`The card of ${orgName} at ${site.name} was refused`,
    parts: [
      'Hello,',
      say`the card that was given for the organization ${orgName} could not be verified, so its trial has ended.`,
      { button: 'Give another card', url },
    ],
  }),
  notification: ({ name, heading, groups, unsubscribeUrl }) => ({
    subject: plain(heading),
    unsubscribe: unsubscribeUrl,
    parts: [hello(name), ...(isOne(groups) ? [] : [plain(heading)]), ...groups.flatMap(notices)],
  }),
};

const isOne = (groups: DataOf<'notification'>['groups']): boolean =>
  groups.length === 1 && groups[0]!.lines.length === 1 && groups[0]!.more === 0;

/** One notice with what it says, or several, each on a line. */
function notices({ orgName, lines, more }: DataOf<'notification'>['groups'][number]): MailPart[] {
  const [first] = lines;
  if (first && lines.length === 1 && more === 0)
    return [
      { heading: plain(orgName) },
      plain(first.title),
      ...(first.content === '' ? [] : [{ quote: plainLines(first.content) }]),
      ...(first.url === null ? [] : [{ button: 'Open it', url: first.url }]),
    ];
  return [
    { heading: plain(orgName) },
    {
      links: lines.map(({ title, content, url, isWhole = url === null }) => ({
        label: plain(title),
        url,
        quote: isWhole && content !== '' ? plainLines(content) : [],
      })),
    },
    ...(more === 0 ? [] : [`And ${more} more.`]),
  ];
}

/** Renders the content of a mail. Nothing that people gave becomes markup, a header or a link (X5). */
export function render(content: MailContent, site: Site): Rendered {
  // of the data that its key names
  const template = TEMPLATES[content.template] as (data: MailContent['data'], site: Site) => MailBody;
  return layOut(template(content.data, site), site);
}
