import { z } from 'zod';
import { mergeSettings, presentMerged } from '../../resources/posts/handlers.ts';
import { objectOf, pairs } from '../../http/pairs.ts';
import { postId } from '../fields.ts';
import { asCall, toolsOf } from '../tool.ts';

export const updatePostSettingsTool = toolsOf('posts')({
  name: 'update_post_settings',
  alias: 'postSettingsTool',
  title: 'Change settings of a post',
  description: 'Merges settings of the network into those of a post that is not out yet.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  permission: 'posts:update',
  input: z.strictObject({
    id: postId,
    settings: pairs('Settings of the network, as `channel_schema` describes them.'),
  }),
  output: z.strictObject({ postId: z.string(), publishDate: z.string() }),
  async run(call) {
    const { id, settings } = call.input;
    return presentMerged(await mergeSettings(asCall(call, { params: { id }, body: { settings: objectOf(settings) } })));
  },
});
