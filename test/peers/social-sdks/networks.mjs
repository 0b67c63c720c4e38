// What each SDK does for an act of a fixture, `<operation> <name>`, with the input of that case. Media have their bytes as `bytes`.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { blobOf, bytesOf, storedOf } from './files.mjs';
import { PAGES } from './pages.mjs';

async function x({ token, account }) {
  const { TwitterApi } = await import('twitter-api-v2');
  const { v2 } = new TwitterApi(token);
  async function upload(file, media_category) {
    const id = await v2.uploadMedia(bytesOf(file), { media_type: file.contentType, media_category });
    if (file.alt && media_category === 'tweet_image') await v2.createMediaMetadata(id, { alt_text: { text: file.alt } });
    return id;
  }
  return {
    profile: () => v2.me({ 'user.fields': 'profile_image_url' }),
    'publish text': ({ text }) => v2.tweet(text),
    'publish every setting': ({ text }) => v2.tweet(text, { reply_settings: 'following', community_id: '123', made_with_ai: true, paid_partnership: true }),
    async 'publish two pictures'({ text, media }) {
      const media_ids = [];
      for (const one of media) media_ids.push(await upload(one, 'tweet_image'));
      await v2.tweet(text, { media: { media_ids } });
    },
    'publish video': async ({ text, media: [video] }) => v2.tweet(text, { media: { media_ids: [await upload(video, 'tweet_video')] } }),
    'publish thread': ({ text, thread }) => v2.reply(text, thread.at(-1).id, { made_with_ai: true }),
    'find text': () =>
      v2.userTimeline(account, {
        max_results: 100,
        start_time: '2026-11-23T09:59:00Z',
        exclude: 'retweets',
        'tweet.fields': ['article', 'attachments', 'created_at', 'entities', 'note_tweet'],
        expansions: 'referenced_tweets.id',
      }),
    remove: ({ id }) => v2.deleteTweet(id),
    repost: ({ published }) => v2.retweet(account, published.id),
  };
}

async function mastodon({ token, values }) {
  const { createRestAPIClient } = await import('masto');
  const { v1, v2 } = createRestAPIClient({ url: values.instance, accessToken: token });
  const create = (params, id) => v1.statuses.create(params, { requestInit: { headers: { 'Idempotency-Key': id } } });
  return {
    'publish text': ({ text, id }) => create({ status: text }, id),
    'publish reply in a thread': ({ text, id, thread }) => create({ status: text, inReplyToId: thread.at(-1).id }, id),
    async 'publish picture'({ id, media: [file] }) {
      await v2.instance.fetch();
      const { id: mediaId } = await v2.media.create({ file: blobOf(file), description: file.alt });
      await create({ status: '', mediaIds: [mediaId] }, id);
    },
    remove: ({ id }) => v1.statuses.$select(id).remove(),
    comments: ({ published }) => v1.statuses.$select(published.id).context.fetch(),
    repost: ({ published }) => v1.statuses.$select(published.id).reblog(),
    channelMetrics: () => v1.accounts.$select('42').fetch(),
    mentions: (q) => v2.search.list({ q, type: 'accounts', resolve: false, limit: 10 }),
  };
}

async function pixelfed({ token, values }) {
  const { default: generator } = await import('megalodon');
  const client = generator('pixelfed', values.instance, token);
  /** It reads accounts in all statuses; those of a fixture name none. */
  const sent = (call) =>
    call.catch((error) => {
      if (!(error instanceof TypeError)) throw error;
    });
  return {
    profile: () => client.verifyAccountCredentials(),
    async 'publish picture'({ media: [file] }) {
      const { data } = await client.uploadMedia(storedOf(file), { description: file.alt });
      await sent(client.postStatus('', { media_ids: [data.id] }));
    },
    'find picture': () => sent(client.getAccountStatuses('42', { limit: 40, exclude_reblogs: true })),
    comment: ({ text, published }) => sent(client.postStatus(text, { in_reply_to_id: published.id })),
    comments: ({ published }) => sent(client.getStatusContext(published.id)),
    repost: ({ published }) => sent(client.reblogStatus(published.id)),
    metrics: ([{ id }]) => sent(client.getStatus(id)),
    channelMetrics: () => client.getAccount('42'),
    remove: ({ id }) => sent(client.deleteStatus(id)),
  };
}

async function youtube({ token, account }) {
  const { auth, youtube: open } = await import('@googleapis/youtube');
  const rootUrl = 'https://www.googleapis.com/';
  const login = new auth.OAuth2();
  login.setCredentials({ access_token: token });
  const api = open({ version: 'v3', auth: login, rootUrl });
  return {
    profile: () => api.channels.list({ part: ['snippet'], id: [account] }),
    pages: () => api.channels.list({ part: ['snippet'], mine: true, maxResults: 50 }),
    async 'publish video'({ media: [{ contentType, bytes }] }) {
      const requestBody = { snippet: { title: 'A title', description: 'About ‹us›' }, status: { privacyStatus: 'unlisted' } };
      await api.videos.insert({ part: ['id', 'snippet', 'status'], requestBody, media: { mimeType: contentType, body: Readable.from([bytes]) } }, { rootUrl });
      await api.videos.list({ part: ['status'], id: ['v1'] });
    },
    comment: ({ published, text }) => api.commentThreads.insert({ part: ['snippet'], requestBody: { snippet: { videoId: published.id, topLevelComment: { snippet: { textOriginal: text } } } } }),
    reply: ({ parent, text }) => api.comments.insert({ part: ['snippet'], requestBody: { snippet: { parentId: parent.id, textOriginal: text } } }),
    comments: ({ published, cursor }) => api.commentThreads.list({ part: ['snippet', 'replies'], videoId: published.id, order: 'time', maxResults: 100, pageToken: cursor }),
    hide: ({ id }) => api.comments.setModerationStatus({ id: [id], moderationStatus: 'heldForReview' }),
    remove: ({ id }) => api.videos.delete({ id }),
    metrics: (posts) => api.videos.list({ part: ['statistics'], id: posts.map(({ id }) => id) }),
  };
}

async function slack({ token }) {
  const { LogLevel, WebClient } = await import('@slack/web-api');
  const client = new WebClient(token, { logLevel: LogLevel.ERROR, retryConfig: { retries: 0 } });
  const place = ({ id }) => ({ channel: id.split('/')[0], ts: id.split('/')[1] });
  const metadata = (post_id) => ({ event_type: 'rookery_post', event_payload: { post_id } });
  return {
    async profile() {
      await client.auth.test();
      await client.users.info({ user: 'U9' });
    },
    async 'publish text'({ id, text, settings: { channel } }) {
      await client.auth.test();
      await client.conversations.join({ channel });
      await client.chat.postMessage({ channel, text, metadata: metadata(id) });
    },
    async 'publish pictures'({ text, media, settings: { channel } }) {
      const files = [];
      for (const { name: filename, size: length, alt: alt_text } of media) {
        const { file_id: id } = await client.files.getUploadURLExternal({ filename, length, alt_text });
        files.push({ id, title: filename });
      }
      await client.files.completeUploadExternal({ files, channel_id: channel, initial_comment: text });
    },
    'publish a document in a thread': ({ media: [file], thread: [root], settings: { channel } }) =>
      client.filesUploadV2({ channel_id: channel, thread_ts: place(root).ts, file: bytesOf(file), filename: file.name, title: file.name }),
    comment: async ({ id, text, published }) => client.chat.postMessage({ channel: place(published).channel, thread_ts: place(published).ts, text, metadata: metadata(id) }),
    comments: ({ published, cursor }) => client.conversations.replies({ ...place(published), limit: 15, cursor }),
    metrics: async ([published]) => client.reactions.get({ channel: place(published).channel, timestamp: place(published).ts, full: true }),
    remove: (published) => client.chat.delete(place(published)),
    mentions: () => client.users.list({ limit: 1000 }),
  };
}

async function discord({ app }) {
  const { REST } = await import('@discordjs/rest');
  const { API } = await import('@discordjs/core/http-only');
  const makeRequest = (url, { method, headers, body }) => fetch(url, { method, headers, body });
  const { channels, guilds } = new API(new REST({ version: '10', retries: 0, makeRequest }).setToken(app.botToken));
  const once = { nonce: 'AZOhssPUfl-Ka3yNng8aKw', enforce_nonce: true };
  const content = (text) => ({ content: text, allowed_mentions: { parse: ['users', 'roles'] }, ...once });
  const partsOf = ({ id }) => id.split('/');
  return {
    profile: () => guilds.get('1'),
    async 'publish text'({ settings: { channel } }) {
      await channels.get(channel);
      await channels.createMessage(channel, content('Hello **you** https://a.example/'));
    },
    async 'publish pictures, a video and a document'({ text, media, settings: { channel } }) {
      await channels.get(channel);
      const attachments = media.map(({ alt, name }, id) => ({ id, filename: name, ...(alt && { description: alt }) }));
      const files = media.map((one) => ({ name: one.name, data: bytesOf(one), contentType: one.contentType }));
      await channels.createMessage(channel, { ...content(text), attachments, files });
    },
    async comment({ text, published }) {
      const [channel, message] = partsOf(published);
      await channels.createThread(channel, { name: text }, message);
      await channels.createMessage(message, content(text));
    },
    comments: ({ published }) => channels.getMessages(partsOf(published)[1], { after: partsOf(published)[1], limit: 100 }),
    remove: (published) => channels.deleteMessage(...partsOf(published)),
    repost: ({ published }) => channels.crosspostMessage(...partsOf(published)),
    'metrics': ([published]) => channels.getMessage(...partsOf(published)),
    async mentions(query) {
      await guilds.searchForMembers('1', { query, limit: 10 });
      await guilds.getRoles('1');
    },
    'tools channels': () => guilds.getChannels('1'),
  };
}

async function telegram({ app, account: chat }) {
  const { Api, InputFile } = await import('grammy');
  const api = new Api(app.clientSecret);
  const fileOf = (file) => new InputFile(bytesOf(file), file.name);
  const html = { parse_mode: 'HTML' };
  const messageOf = ({ id }) => Number(id.split('/')[1]);
  return {
    async profile() {
      await api.getChat(chat);
      await api.getChatMember(Number(chat), Number(app.clientSecret.split(':')[0]));
    },
    'publish text': ({ text }) => api.sendMessage(chat, text, html),
    'publish second of a thread': ({ text }) => api.sendMessage(chat, text, { ...html, reply_parameters: { message_id: 5 } }),
    'publish picture': ({ text, media: [file] }) => api.sendPhoto(chat, fileOf(file), { caption: text, ...html }),
    'publish video with a cover': ({ media: [file] }) =>
      api.sendVideo(chat, fileOf(file), { cover: fileOf(file.thumbnail), width: 640, height: 480, duration: 12, supports_streaming: true, reply_parameters: { message_id: 5 } }),
    'publish album': ({ text, media: [photo, video] }) =>
      api.sendMediaGroup(chat, [
        { type: 'photo', media: fileOf(photo), caption: text, ...html },
        { type: 'video', media: fileOf(video), width: 640, height: 480, duration: 12, supports_streaming: true },
      ]),
    comment: ({ text, published }) => api.sendMessage(chat, text, { ...html, reply_parameters: { message_id: messageOf(published) } }),
    async repost({ published }) {
      await api.getChat(chat);
      await api.forwardMessages(chat, published.id.split('/')[0], published.saved.ids);
    },
    remove: (published) => api.deleteMessages(chat, [messageOf(published)]),
    channelMetrics: () => api.getChatMemberCount(chat),
  };
}

async function tumblr({ account: blog }) {
  const { default: { createClient } } = await import('tumblr.js');
  const client = createClient({ consumer_key: 'k', consumer_secret: 's', token: 't', token_secret: 'u' });
  const words = { type: 'text', text: 'Hello' };
  const send = (params) => client.createPost(blog, { state: 'published', ...params });
  return {
    profile: () => client.blogInfo(blog),
    pages: () => client.userInfo(),
    'publish text': () => send({ content: [words] }),
    'publish picture': ({ media: [file] }) => send({ content: [{ type: 'image', media: storedOf(file), alt_text: file.alt }, words], tags: ['go', 'web'] }),
    repost: async () => client.createPost(blog, { state: 'published', content: [], parent_tumblelog_uuid: 't:9bob', parent_post_id: '5', reblog_key: 'key5' }),
    'find text': () => client.blogPosts(blog, { limit: 20, npf: true }),
    remove: ({ id }) => client.deletePost(blog, id),
  };
}

async function bluesky({ token, account: did, values: { service, identifier, password } }) {
  const { AtpAgent, RichText } = await import('@atproto/api');
  const agent = new AtpAgent({ service });
  agent.sessionManager.session = { accessJwt: token, refreshJwt: 'the-refresh-token', did, handle: 'alice.test', active: true };
  agent.lex.assertValidXrpcOutput = () => {}; // the fixture's answers have no hashes of content
  const { repo } = agent.com.atproto;
  const POST = 'app.bsky.feed.post';
  const rkey = '3n2xuo4lu3wlf';
  const createdAt = '2026-11-23T10:00:00.000Z';
  const create = (record, collection = POST) => repo.createRecord({ repo: did, collection, rkey, record: { $type: collection, createdAt, ...record } });
  const keyOf = (uri) => uri.split('/').at(-1);
  return {
    signIn: () => new AtpAgent({ service }).login({ identifier: identifier.replace('@', ''), password }),
    refresh: () => agent.sessionManager.refreshSession(),
    'publish text': ({ text }) => create({ text }),
    async 'publish mention, link, tag and every setting'({ text }) {
      const rich = new RichText({ text });
      await rich.detectFacets(agent);
      const gate = 'app.bsky.feed.threadgate';
      await repo.putRecord({ repo: did, collection: gate, rkey, record: { $type: gate, post: `at://${did}/${POST}/${rkey}`, createdAt, allow: [{ $type: `${gate}#followingRule` }] } });
      await create({ text: rich.text, facets: rich.facets, langs: ['de', 'en-GB'], labels: { $type: 'com.atproto.label.defs#selfLabels', values: [{ val: 'nudity' }] } });
    },
    async 'publish picture'({ text, media: [file] }) {
      const { data } = await agent.uploadBlob(bytesOf(file), { encoding: file.contentType });
      await create({ text, embed: { $type: 'app.bsky.embed.images', images: [{ alt: file.alt, image: data.blob, aspectRatio: { width: 640, height: 480 } }] } });
    },
    comment: ({ text, published: { saved: parent } }) => create({ text, reply: { root: parent, parent } }),
    repost: ({ published: { saved: subject } }) => create({ subject }, 'app.bsky.feed.repost'),
    comments: ({ published: { id: uri } }) => agent.getPostThread({ uri, depth: 100, parentHeight: 0 }),
    metrics: (posts) => agent.getPosts({ uris: posts.map(({ id }) => id) }),
    channelMetrics: () => agent.getProfile({ actor: did }),
    mentions: (q) => agent.searchActorsTypeahead({ q, limit: 10 }),
    remove: ({ id }) => repo.deleteRecord({ repo: did, collection: POST, rkey: keyOf(id) }),
  };
}

async function wrapcast({ token: signerUuid, app, account }) {
  const { Configuration, NeynarAPIClient } = await import('@neynar/nodejs-sdk');
  const client = new NeynarAPIClient(new Configuration({ apiKey: app.clientSecret }));
  const idem = '8a6b7c8d9e0f1a2b';
  const fid = Number(account);
  return {
    async profile() {
      await client.lookupSigner({ signerUuid });
      await client.fetchBulkUsers({ fids: [fid] });
    },
    'publish text': ({ text }) => client.publishCast({ signerUuid, text, idem }),
    'publish picture and video in a channel': ({ text, media }) => client.publishCast({ signerUuid, text, embeds: media.map(({ publicUrl: url }) => ({ url })), channelId: 'neynar', idem }),
    'publish next of a thread': ({ text, thread: [parent] }) => client.publishCast({ signerUuid, text, parent: parent.id, parentAuthorFid: parent.saved.fid, idem }),
    'find text': () => client.fetchCastsForUser({ fid, limit: 50 }),
    remove: ({ id }) => client.deleteCast({ signerUuid, targetHash: id }),
    repost: ({ published }) => client.publishReaction({ signerUuid, reactionType: 'recast', target: published.id, targetAuthorFid: published.saved.fid, idem }),
    comments: ({ published }) => client.lookupCastConversation({ identifier: published.id, type: 'hash', replyDepth: 2, limit: 50 }),
    metrics: (posts) => client.fetchBulkCasts({ casts: posts.map(({ id }) => id) }),
    mentions: (q) => client.searchUser({ q, limit: 10 }),
    'tools subreddits': ({ data: { word } }) => client.searchChannels({ q: word, limit: 20 }),
  };
}

async function whop({ token }) {
  const { default: Whop } = await import('@whop/sdk');
  const client = new Whop({ apiKey: token, maxRetries: 0 });
  const { forumPosts, files } = client;
  return {
    'publish text': ({ text, settings: { experience, title } }) => forumPosts.create({ experience_id: experience, content: text, title }),
    async 'publish picture'({ text, media: [file], settings: { experience, title } }) {
      const { id, upload_url, upload_headers } = await files.create({ filename: file.name });
      await fetch(upload_url, { method: 'PUT', headers: upload_headers, body: file.bytes });
      for (let n = 0; n < 2; n += 1) await files.retrieve(id);
      await forumPosts.create({ experience_id: experience, content: text, title, attachments: [{ id }] });
    },
    'find nothing': ({ settings: { experience } }) => forumPosts.list({ experience_id: experience, first: 50 }),
    comment: ({ text, published }) => forumPosts.create({ experience_id: published.saved.experience, parent_id: published.id, content: text }),
    'tools experiences': ({ data: { id } }) => client.forums.list({ company_id: id, first: 50 }),
  };
}

async function reddit({ token }) {
  const { default: Snoowrap } = await import('snoowrap');
  const client = new Snoowrap({ userAgent: 'server:rookery:v1', accessToken: token });
  client.config({ requestDelay: 0, maxRetryAttempts: 1, warnings: false });
  return {
    'publish text': ({ text }) => client.submitSelfpost({ subredditName: 'test', title: 'A title', text }),
    'publish link': () => client.submitLink({ subredditName: 'test', title: 'A title', url: 'https://ann.example/a' }),
    comment: ({ published, text }) => client.getSubmission(published.id.slice(3)).reply(text),
    reply: ({ parent, text }) => client.getComment(parent.id.slice(3)).reply(text),
    'remove there or gone': ({ id }) => client.getSubmission(id.slice(3)).delete(),
    channelMetrics: () => client.getMe(),
  };
}

async function twitch({ token, app, account }) {
  const { ApiClient } = await import('@twurple/api');
  const { StaticAuthProvider } = await import('@twurple/auth');
  const api = new ApiClient({ authProvider: new StaticAuthProvider(app.clientId, token, ['user:write:chat', 'moderator:manage:announcements', 'moderator:read:followers']), logger: { minLevel: 'critical' } });
  const as = (work) => api.asUser(account, work);
  return {
    'publish text': ({ text }) => as(({ chat }) => chat.sendChatMessage(account, text)),
    'publish announcement in a color': ({ text }) => as(({ chat }) => chat.sendAnnouncement(account, { message: text, color: 'purple' })),
    comment: ({ text, published }) => as(({ chat }) => chat.sendChatMessage(account, text, { replyParentMessageId: published.id })),
    channelMetrics: () => as(({ channels }) => channels.getChannelFollowers(account, undefined, { limit: 1 })),
  };
}

async function lemmy({ token, values: { service, identifier, password } }) {
  const { LemmyHttp } = await import('lemmy-js-client');
  const client = new LemmyHttp(service, { headers: { authorization: `Bearer ${token}` } });
  return {
    signIn: () => new LemmyHttp(service).login({ username_or_email: identifier, password }),
    profile: () => client.getSite(),
    'publish text': ({ text }) => client.createPost({ name: 'A title', community_id: 2, body: text }),
    'publish link': () => client.createPost({ name: 'A title', community_id: 2, url: 'https://ann.example/a' }),
    async 'publish picture'({ text, media: [file] }) {
      const { url } = await client.uploadImage({ image: blobOf(file) });
      await client.createPost({ name: 'A title', community_id: 2, url, alt_text: file.alt, body: text });
    },
    'find text': () => client.getPersonDetails({ person_id: 5, limit: 50, sort: 'New' }),
    comment: ({ text, published }) => client.createComment({ content: text, post_id: Number(published.id) }),
    remove: ({ id }) => client.deletePost({ post_id: Number(id), deleted: true }),
  };
}

async function vk({ token }) {
  const { VK } = await import('vk-io');
  const { api } = new VK({ token, apiVersion: '5.199', apiBaseUrl: 'https://api.vk.com/method' });
  return {
    profile: () => api.users.get({ fields: ['screen_name', 'photo_200'] }),
    'publish text': ({ id: guid, text: message }) => api.wall.post({ owner_id: 7, message, guid }),
    comment: ({ id: guid, text: message, published: { id } }) => api.wall.createComment({ owner_id: id.split('_')[0], post_id: id.split('_')[1], message, guid }),
    remove: ({ id }) => api.wall.delete({ owner_id: id.split('_')[0], post_id: id.split('_')[1] }),
  };
}

async function wordpress({ values: { domain, username, password } }) {
  const { default: WPAPI } = await import('wpapi');
  const site = new WPAPI({ endpoint: `${domain}/wp-json`, username, password, auth: true });
  return {
    profile: () => site.users().me().context('edit'),
    async 'publish text'() {
      const { id } = await site.posts().create({ status: 'draft', title: 'A title', content: '<p>Hello <b>you</b><br>and me</p>\n<p>Bye</p>' });
      await site.posts().id(id).update({ status: 'publish' });
    },
    async 'publish video'({ media: [file] }) {
      const { id: _, source_url } = await site.media().file(bytesOf(file), file.name).create({ alt_text: file.alt });
      const { id } = await site.posts().create({ status: 'draft', title: 'A title', content: `<figure class="wp-block-video"><video controls src="${source_url}"></video></figure>` });
      await site.posts().id(id).update({ status: 'publish' });
    },
    comment: ({ text, published }) => site.comments().create({ post: Number(published.id), content: text }),
    hide: ({ id }) => site.comments().id(id).update({ status: 'hold' }),
    remove: ({ id }) => site.posts().id(id).delete(),
  };
}

async function nostr({ values: { password } }) {
  const { finalizeEvent, nip10, nip19, verifyEvent } = await import('nostr-tools');
  return {
    /** Nothing is sent: events that relays have, and the addresses that were answered for them, are read. */
    'read thread'(notes) {
      const of = (note) => note && note.event.id;
      for (const [n, { event, url, relays }] of notes.entries()) {
        assert.ok(verifyEvent(event));
        const { kind, created_at, tags, content } = event;
        const { id, pubkey } = finalizeEvent({ kind, created_at, tags, content }, Buffer.from(password, 'hex'));
        assert.deepEqual([event.id, event.pubkey], [id, pubkey]);
        const { type, data } = nip19.decode(url.split('/').at(-1));
        assert.deepEqual([type, data.id, data.relays], ['nevent', id, relays]);
        const { root, reply } = nip10.parse(event);
        assert.deepEqual([root?.id, reply?.id], n === 0 ? [undefined, undefined] : [of(notes[0]), of(notes[n - 1])]);
      }
    },
  };
}

export const NETWORKS = { ...PAGES, x, mastodon, pixelfed, youtube, slack, discord, telegram, tumblr, bluesky, wrapcast, whop, reddit, twitch, lemmy, vk, wordpress, nostr };
