// What the SDKs of networks with pages, locations and publications do; see networks.mjs.
/** Meta's SDK is older than the version that is asked for. */
async function graph(token) {
  const sdk = (await import('facebook-nodejs-business-sdk')).default;
  Object.defineProperty(sdk.FacebookAdsApi, 'VERSION', { value: 'v25.0' });
  sdk.FacebookAdsApi.init(token, 'en_US', false);
  return sdk;
}

const OWN_POSTS = ['id', 'permalink_url', 'message', 'created_time', 'attachments{type,media_type,subattachments.limit(30){media_type}}'];
const COMMENT = ['id', 'message', 'created_time', 'from', 'parent{id}', 'like_count', 'is_hidden', 'permalink_url'];
const total = (edge) => `${edge}.limit(0).summary(total_count)`;

async function facebook({ token, account }) {
  const { Comment, Page, PagePost } = await graph(token);
  const page = new Page(account);
  const made = ['id', 'permalink_url'];
  return {
    profile: () => page.read(['id', 'name', 'username', 'picture.type(large){url}']),
    'publish text': ({ text }) => page.createFeed(made, { message: text }),
    'publish photo story': () => page.createPhotoStory([], { photo_id: '12' }),
    async 'publish reel'({ text }) {
      await page.createVideoReel([], { upload_phase: 'start' });
      await page.createVideoReel([], { upload_phase: 'finish', video_id: '77', video_state: 'PUBLISHED', description: text });
    },
    async 'publish video story'() {
      await page.createVideoStory([], { upload_phase: 'start' });
      await page.createVideoStory([], { upload_phase: 'finish', video_id: '77', video_state: 'PUBLISHED' });
    },
    'find text': () => page.getPublishedPosts(OWN_POSTS, { since: '1795427940', limit: '100' }),
    'find photo story': () => page.getStories(),
    comment: ({ published, text }) => new PagePost(published.id).createComment(made, { message: text }),
    findComment: ({ published }) => new PagePost(published.id).getComments(COMMENT, { order: 'reverse_chronological', limit: '100', filter: 'toplevel' }),
    hide: ({ id, hidden }) => new Comment(id).update([], { is_hidden: hidden }),
    metrics: ([{ id }]) => new PagePost(id).read([total('reactions'), total('comments'), 'shares', 'insights.metric(post_media_view,post_total_media_view_unique,post_clicks)']),
    async channelMetrics() {
      await page.getInsights([], { metric: 'page_media_view,page_total_media_view_unique,page_post_engagements,page_daily_follows', period: 'day', since: '2026-11-20', until: '2026-11-22' });
      await page.read(['followers_count']);
    },
    async remove({ id }) {
      const post = new PagePost(id);
      await new PagePost(id).read(['id']);
      await post.delete();
    },
  };
}

async function instagram({ token, account }) {
  const { IGComment, IGMedia, IGUser } = await graph(token);
  const user = new IGUser(account);
  const comment = ['id', 'text', 'username', 'from', 'timestamp', 'like_count', 'hidden'];
  async function publish(...containers) {
    await user.getContentPublishingLimit(['quota_usage', 'config']);
    for (const one of containers) await user.createMedia([], one);
    await new IGMedia('c1').read(['status_code', 'status']);
    await user.createMediaPublish([], { creation_id: 'c1' });
    await new IGMedia('m1').read(['id', 'permalink']);
  }
  return {
    profile: () => user.read(['id', 'username', 'name', 'profile_picture_url']),
    'publish picture': ({ text, media: [{ publicUrl, alt }] }) => publish({ image_url: publicUrl, alt_text: alt, caption: text }),
    'publish reel': ({ text, media: [{ publicUrl }] }) => publish({ media_type: 'REELS', video_url: publicUrl, caption: text }),
    'publish story': ({ media: [{ publicUrl }] }) => publish({ media_type: 'STORIES', image_url: publicUrl }),
    async 'find picture'() {
      await new IGMedia('c1').read(['status_code', 'status']);
      await user.getMedia(['id', 'caption', 'permalink', 'timestamp'], { limit: '50' });
    },
    comment: ({ published, text }) => new IGMedia(published.id).createComment([], { message: text }),
    reply: ({ parent, text }) => new IGComment(parent.id).createReply([], { message: text }),
    findComment: ({ published }) => new IGMedia(published.id).getComments(comment, { limit: '50' }),
    hide: ({ id, hidden }) => new IGComment(id).update([], { hide: hidden }),
    async metrics([{ id }]) {
      await new IGMedia(id).read(['like_count', 'comments_count', 'media_product_type']);
      await new IGMedia(id).getInsights([], { metric: 'views,reach,shares,total_interactions,saved' });
    },
  };
}

/** By LinkedIn's client of its protocol, for an author. */
const linkedinOf = (kind) =>
  async function linkedin({ token: accessToken, account }) {
    const { RestliClient } = await import('linkedin-api-client');
    const client = new RestliClient();
    const author = `urn:li:${kind}:${account}`;
    const line = { accessToken, versionString: '202604' };
    const post = (commentary, more) =>
      client.create({
        ...line,
        resourcePath: '/posts',
        entity: {
          author,
          commentary,
          visibility: 'PUBLIC',
          distribution: { feedDistribution: 'MAIN_FEED', targetEntities: [], thirdPartyDistributionChannels: [] },
          lifecycleState: 'PUBLISHED',
          isReshareDisabledByAuthor: false,
          ...more,
        },
      });
    const upload = async (name, id) => {
      const data = { initializeUploadRequest: { owner: author } };
      await client.action({ ...line, resourcePath: `/${name}s`, actionName: 'initializeUpload', data });
      await client.get({ ...line, resourcePath: `/${name}s/{id}`, pathKeys: { id } });
      return id;
    };
    const comments = { ...line, resourcePath: '/socialActions/{post}/comments' };
    return {
      'publish text': () => post('Hello {hashtag|#|world}'),
      'publish mention and reserved characters': () => post('Thanks @[Acme \\(Berne\\)](urn:li:organization:7)! \\(a\\_b\\) \\<c\\> 50% \\#1 see https://a.example/x\\_y\\#z'),
      'publish document': async ({ text }) => post(text, { content: { media: { id: await upload('document', 'urn:li:document:D1'), title: 'Slides' } } }),
      'find text': () => client.finder({ ...line, resourcePath: '/posts', finderName: 'author', queryParams: { author, count: 50, sortBy: 'CREATED' } }),
      comment: ({ text, published: { id } }) => client.create({ ...comments, pathKeys: { post: id }, entity: { actor: author, object: id, message: { text } } }),
      comments: ({ published: { id }, cursor = '0' }) => client.getAll({ ...comments, pathKeys: { post: id }, queryParams: { start: Number(cursor), count: 50 } }),
      repost: ({ published: { id: parent } }) => post('', { reshareContext: { parent } }),
      remove: ({ id }) => client.delete({ ...line, resourcePath: '/posts/{id}', pathKeys: { id } }),
      mentions: (vanityName) => client.finder({ accessToken, resourcePath: '/organizations', finderName: 'vanityName', queryParams: { vanityName } }),
    };
  };

async function gmb({ token }) {
  const { auth, mybusinessbusinessinformation: places } = await import('@googleapis/mybusinessbusinessinformation');
  const { mybusinessaccountmanagement: owners } = await import('@googleapis/mybusinessaccountmanagement');
  const login = new auth.OAuth2();
  login.setCredentials({ access_token: token });
  const { accounts, locations } = places({ version: 'v1', auth: login });
  const readMask = 'name,title,storefrontAddress';
  const all = async (list, items) => {
    const found = [];
    for (let pageToken, isFirst = true; isFirst || pageToken; isFirst = false) {
      const { data } = await list(pageToken);
      found.push(...(data[items] ?? []));
      pageToken = data.nextPageToken;
    }
    return found;
  };
  return {
    profile: () => locations.get({ name: 'locations/2', readMask }),
    async pages() {
      const lists = owners({ version: 'v1', auth: login }).accounts;
      for (const { name: parent } of await all((pageToken) => lists.list({ pageToken }), 'accounts'))
        await all((pageToken) => accounts.locations.list({ parent, readMask, pageSize: 100, pageToken }), 'locations');
    },
  };
}

async function medium({ values: { apiKey }, account: userId }) {
  const { MediumClient } = (await import('medium-sdk')).default;
  const client = new MediumClient({ clientId: 'none', clientSecret: 'none' });
  client.setAccessToken(apiKey);
  const call = (name, ...options) => new Promise((resolve, reject) => client[name](...options, (error, told) => (error ? reject(error) : resolve(told))));
  const story = { userId, title: 'A title', contentFormat: 'markdown', publishStatus: 'public' };
  return {
    profile: () => call('getUser'),
    'publish text': ({ text }) => call('createPost', { ...story, content: `# A title\n\n${text}` }),
    'tools publications': () => call('getPublicationsForUser', { userId }),
  };
}

export const PAGES = { facebook, instagram, linkedin: linkedinOf('person'), 'linkedin-page': linkedinOf('organization'), gmb, medium };
