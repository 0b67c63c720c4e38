import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { listmonkPeer } from '../../../support/peers/listmonk.ts';
import { type MailServer, mailServer, type ReceivedMail } from '../../../support/peers/mail-server.ts';
import { describePeer, type Peer } from '../../../support/peers/peers.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';
import { picture } from '../../../support/worlds/samples.ts';

const READER = 'john@example.com'; // of the list that comes with it

await describePeer('listmonk', listmonkPeer, ({ start }) => {
  let listmonk: Peer;
  let mailbox: MailServer;
  let providers: ReturnType<typeof localProviders>;
  let list: string;
  beforeAll(async () => {
    listmonk = await start();
    mailbox = mailServer(listmonk.env['mailbox'] as Peer);
    providers = localProviders();
    const lists = (await channel().tool!('list', {})) as { id: string; name: string }[];
    list = lists.find(({ name }) => name === 'Default list')!.id;
  }, 120_000);
  afterAll(async () => {
    await providers[Symbol.asyncDispose]();
    await listmonk.stop();
  });

  const adapter = () => providers.resolve('social', 'listmonk');
  const connection = (password: string) => ({
    values: providers.fields(adapter(), {
      url: listmonk.url,
      username: listmonk.env['username'] as string,
      password,
    }),
    account: '',
  });
  const channel = (password = listmonk.env['password'] as string) => providers.connect(adapter(), connection(password));
  const mailOf = async (subject: string) => {
    let mail: ReceivedMail | undefined;
    await eventually(`a mail about ${subject}`, async () => {
      mail = (await mailbox.mails(READER)).find((one) => one.subject === subject);
      return mail !== undefined;
    });
    return mail!;
  };

  test('identifies the server, and names its lists', async () => {
    const { host } = new URL(listmonk.url);
    await expect(channel().profile()).resolves.toMatchObject({ id: `ann@${host}`, server: listmonk.url });
    await expect(channel().channelMetrics!({ from: '', to: '' })).resolves.toMatchObject([{ metric: 'followers' }]);
  });

  test('sends a campaign to the readers of a list, with braces as they were written', async () => {
    const post = {
      ...postOf('Hello <b>you</b>\n{{ .Subscriber.Email }}'),
      plain: 'Hello you\n{{ .Subscriber.Email }}',
    };
    const settings = { subject: 'News of {{ May }}', list, preview: 'Read this' };
    const handle = handleOf();
    const published = await channel().publish(post, settings, handle);
    expect(published.url).toBe(`${listmonk.url}/admin/campaigns/${published.id}`);

    const { html, text } = await mailOf('News of {{ May }}');
    expect(html).toContain('<p>Hello <b>you</b><br>\n{{ .Subscriber.Email }}</p>');
    expect(html).toContain('>Read this</div>');
    expect(text).toContain('{{ .Subscriber.Email }}');

    const attempt = { since: new Date(), saved: handle.kept.at(-1), thread: [] };
    await expect(channel().find!(post, settings, attempt)).resolves.toEqual(published);
    await expect(channel().metrics!([published])).resolves.toMatchObject([{ id: published.id }]);
  });

  test('finds no campaign that is a draft or gone, and sends none', async () => {
    const post = postOf('Only a draft');
    const settings = { subject: 'A draft', list };
    const handle = handleOf();
    const steps = providers.connectSteps(adapter(), connection(listmonk.env['password'] as string));
    await expect(steps.prepare!(post, settings, handle)).resolves.toBe('ready');
    const saved = handle.kept.at(-1) as { draft: string };
    const attempt = { since: new Date(), saved, thread: [] };
    await expect(channel().find!(post, settings, attempt)).resolves.toBeUndefined();
    const gone = { id: saved.draft, url: '' };
    await channel().remove!(gone);
    await channel().remove!(gone); // what is gone counts as removed
    await expect(channel().find!(post, settings, attempt)).resolves.toBeUndefined();
    await expect(channel().metrics!([gone])).resolves.toEqual([]);
  });

  test('makes no campaign of a post whose picture the server took without telling its address', async () => {
    const said = { name: 'red.png', contentType: 'image/png', alt: '' };
    const post = postOf('Look', [await mediaOf(await picture(3, 2), said)]);
    const handle = handleOf();
    const lost = channel().publish(post, { subject: 'A picture', list }, handle);
    expect(await failureOf(lost)).toMatchObject({ failure: 'unavailable' }); // as this old version does
    expect(handle.kept).toEqual([]);
  });

  test('a wrong password and a list that is not there are refused', async () => {
    expect(await failureOf(channel('wrong').profile())).toMatchObject({ failure: 'reauthorize' });
    const lost = channel().publish(postOf('Never'), { subject: 'Never', list: '999' }, handleOf());
    expect(await failureOf(lost)).toMatchObject({ failure: 'rejected' });
  });
});
