import { callChannelMethodTool } from './tools/call-channel-method.ts';
import { cancelPostTool } from './tools/cancel-post.ts';
import { channelSchemaTool } from './tools/channel-schema.ts';
import { createPostTool } from './tools/create-post.ts';
import { deletePostTool } from './tools/delete-post.ts';
import { explainFailureTool } from './tools/explain-failure.ts';
import { finalizeMediaUploadTool } from './tools/finalize-media-upload.ts';
import { findSlotTool } from './tools/find-slot.ts';
import { generateImageTool } from './tools/generate-image.ts';
import { generateVideoTool } from './tools/generate-video.ts';
import { getChannelAnalyticsTool } from './tools/get-channel-analytics.ts';
import { getMediaTool } from './tools/get-media.ts';
import { getPostAnalyticsTool } from './tools/get-post-analytics.ts';
import { getPostTool } from './tools/get-post.ts';
import { getProposalTool } from './tools/get-proposal.ts';
import { listChannelsTool } from './tools/list-channels.ts';
import { listGroupsTool } from './tools/list-groups.ts';
import { listPostsTool } from './tools/list-posts.ts';
import { mediaJobStatusTool } from './tools/media-job-status.ts';
import { postTimelineTool } from './tools/post-timeline.ts';
import { preflightPostTool } from './tools/preflight-post.ts';
import { proposePostTool } from './tools/propose-post.ts';
import { requestMediaUploadTool } from './tools/request-media-upload.ts';
import { searchMediaTool } from './tools/search-media.ts';
import { searchStockTool } from './tools/search-stock.ts';
import { transformMediaTool } from './tools/transform-media.ts';
import { updateMediaTool } from './tools/update-media.ts';
import { updatePostSettingsTool } from './tools/update-post-settings.ts';
import { updatePostTool } from './tools/update-post.ts';
import { uploadFromUrlTool } from './tools/upload-from-url.ts';
import { videoFunctionTool } from './tools/video-function.ts';
import { videoOptionsTool } from './tools/video-options.ts';
import type { AnyTool } from './tool.ts';

/** Every tool, in the order in which clients list them. */
export const tools: readonly AnyTool[] = [
  listChannelsTool,
  listGroupsTool,
  channelSchemaTool,
  callChannelMethodTool,
  createPostTool,
  listPostsTool,
  getPostTool,
  updatePostTool,
  updatePostSettingsTool,
  cancelPostTool,
  deletePostTool,
  preflightPostTool,
  findSlotTool,
  postTimelineTool,
  explainFailureTool,
  getChannelAnalyticsTool,
  getPostAnalyticsTool,
  proposePostTool,
  getProposalTool,
  uploadFromUrlTool,
  generateImageTool,
  videoOptionsTool,
  videoFunctionTool,
  generateVideoTool,
  searchMediaTool,
  getMediaTool,
  updateMediaTool,
  requestMediaUploadTool,
  finalizeMediaUploadTool,
  transformMediaTool,
  mediaJobStatusTool,
  searchStockTool,
];
