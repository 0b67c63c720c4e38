// What each SDK does for an act of a fixture, `<operation> <name>`, with the input of that case. Bytes come as base64.

const fileOf = ({ base64, name, contentType }) => new File([Buffer.from(base64, 'base64')], name, { type: contentType });
const imagePart = ({ mediaType, bytes: { base64 } }) => ({ type: /** @type {const} */ ('image_url'), image_url: { url: `data:${mediaType};base64,${base64}` } });
const textsOf = ({ turns }) => turns[0].parts.map(({ text }) => text).filter(Boolean).join('\n');
const pictureIn = ({ turns }) => turns[0].parts.find(({ type }) => type === 'image');
/** Reads a stream to its end. */
const whole = async (stream) => {
  for await (const _ of await stream);
};
/** Asks until the job has ended. */
async function ended(ask, states) {
  for (;;) if (states.includes((await ask()).status)) return;
}
const drained = async (answer) => void (await (await answer).arrayBuffer());

/** Messages as the chat protocol of OpenAI has them. */
function messagesOf(input) {
  const picture = pictureIn(input);
  const said = textsOf(input);
  const content = picture ? [{ type: /** @type {const} */ ('text'), text: said }, imagePart(picture)] : said;
  const system = { role: /** @type {const} */ ('system'), content: input.instruction };
  const user = { role: /** @type {const} */ ('user'), content };
  return input.instruction === undefined ? [user] : [system, user];
}
const formatOf = ({ schema }) => ({ type: /** @type {const} */ ('json_schema'), json_schema: { name: 'answer', strict: true, schema } });

export async function openai({ values: { apiKey, organization = null, project = null } }) {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ apiKey, organization, project, maxRetries: 0 });
  const completions = client.chat.completions;
  const asked = (input) => ({ model: input.model, messages: messagesOf(input), max_completion_tokens: input.maxTokens, temperature: input.temperature, store: false });
  const speech = ({ model, prompt, voice = 'alloy' }) => drained(client.audio.speech.create({ model, input: prompt, voice, response_format: 'mp3' }));
  return {
    text: (input) => completions.create(asked(input)),
    'text with a picture': (input) => completions.create(asked(input)),
    stream: (input) => whole(completions.create({ ...asked(input), stream: true, stream_options: { include_usage: true } })),
    object: (input) => completions.create({ ...asked(input), response_format: formatOf(input) }),
    embed: ({ model, values }) => client.embeddings.create({ model, input: values, encoding_format: 'float' }),
    models: () => client.models.list(),
    check: () => client.models.list(),
    image: ({ model, prompt, size, count }) => client.images.generate({ model, prompt, size, n: count }),
    edit: ({ model, prompt, sources }) => client.images.edit({ model, prompt, image: sources.map(fileOf) }),
    speech,
    'speech for an organization and a project': speech,
    transcription: ({ model, language, sources: [file] }) => client.audio.transcriptions.create({ model, language, file: fileOf(file), response_format: 'verbose_json', timestamp_granularities: ['segment'] }),
  };
}

export async function anthropic({ values: { apiKey } }) {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ apiKey, maxRetries: 0 });
  const asked = (input) => {
    const picture = pictureIn(input);
    const shown = picture && [{ type: /** @type {const} */ ('image'), source: { type: /** @type {const} */ ('base64'), media_type: picture.mediaType, data: picture.bytes.base64 } }];
    const content = [{ type: /** @type {const} */ ('text'), text: textsOf(input) }, ...(shown ?? [])];
    return {
      model: input.model,
      max_tokens: input.maxTokens,
      ...(input.instruction !== undefined && { system: [{ type: /** @type {const} */ ('text'), text: input.instruction }] }),
      ...(input.temperature !== undefined && { temperature: input.temperature }),
      messages: [{ role: /** @type {const} */ ('user'), content }],
    };
  };
  return {
    text: (input) => client.messages.create(asked(input)),
    'text with a picture': (input) => client.messages.create(asked(input)),
    stream: (input) => whole(client.messages.create({ ...asked(input), stream: true })),
    object: (input) => client.messages.create({ ...asked(input), output_config: { format: { type: 'json_schema', schema: input.schema } } }),
    models: () => client.models.list({ limit: 1000 }),
    check: () => client.models.list({ limit: 1 }),
  };
}

export async function google({ values: { apiKey } }) {
  const { GoogleGenAI, Modality } = await import('@google/genai');
  const { models } = new GoogleGenAI({ apiKey, httpOptions: { apiVersion: 'v1beta' } });
  const asked = (input) => {
    const picture = pictureIn(input);
    const shown = picture && [{ inlineData: { mimeType: picture.mediaType, data: picture.bytes.base64 } }];
    return {
      model: input.model,
      contents: [{ role: 'user', parts: [{ text: textsOf(input) }, ...(shown ?? [])] }],
      config: {
        ...(input.instruction !== undefined && { systemInstruction: { parts: [{ text: input.instruction }] } }),
        maxOutputTokens: input.maxTokens,
        temperature: input.temperature,
      },
    };
  };
  const made = ({ model, prompt, sources = [] }, config) =>
    models.generateContent({
      model,
      contents: [{ role: 'user', parts: [{ text: prompt }, ...sources.map(({ contentType, base64 }) => ({ inlineData: { mimeType: contentType, data: base64 } }))] }],
      config,
    });
  return {
    text: (input) => models.generateContent(asked(input)),
    'text with a picture': (input) => models.generateContent(asked(input)),
    stream: (input) => whole(models.generateContentStream(asked(input))),
    object(input) {
      const { config, ...rest } = asked(input);
      return models.generateContent({ ...rest, config: { ...config, responseMimeType: 'application/json', responseJsonSchema: input.schema } });
    },
    embed: ({ model, values }) => models.embedContent({ model, contents: values }),
    models: () => models.list({ config: { pageSize: 1000 } }),
    check: () => models.list({ config: { pageSize: 1 } }),
    image: (input) => made(input, { responseModalities: [Modality.IMAGE], imageConfig: { aspectRatio: input.ratio } }),
    edit: (input) => made(input, { responseModalities: [Modality.IMAGE] }),
    speech: (input) => made(input, { responseModalities: [Modality.AUDIO], speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: input.voice } } } }),
  };
}

export async function mistral({ values: { apiKey } }) {
  const { Mistral } = await import('@mistralai/mistralai');
  const client = new Mistral({ apiKey, retryConfig: { strategy: 'none' } });
  const asked = (input) => {
    const picture = pictureIn(input);
    const said = textsOf(input);
    const { type, image_url: imageUrl } = picture ? imagePart(picture) : {};
    const content = picture ? [{ type: /** @type {const} */ ('text'), text: said }, { type, imageUrl }] : said;
    const user = { role: /** @type {const} */ ('user'), content };
    const system = { role: /** @type {const} */ ('system'), content: input.instruction };
    return { model: input.model, messages: input.instruction === undefined ? [user] : [system, user], maxTokens: input.maxTokens, temperature: input.temperature };
  };
  return {
    text: (input) => client.chat.complete(asked(input)),
    'text with a picture': (input) => client.chat.complete(asked(input)),
    stream: (input) => whole(client.chat.stream(asked(input))),
    object: (input) => client.chat.complete({ ...asked(input), responseFormat: { type: 'json_schema', jsonSchema: { name: 'answer', strict: true, schemaDefinition: input.schema } } }),
    embed: ({ model, values }) => client.embeddings.create({ model, inputs: values }),
    models: () => client.models.list(),
    check: () => client.models.list(),
  };
}

export async function cohere({ values: { apiKey } }) {
  const { CohereClient, CohereClientV2 } = await import('cohere-ai');
  const client = new CohereClientV2({ token: apiKey, maxRetries: 0 });
  const v1 = new CohereClient({ token: apiKey, maxRetries: 0 });
  const asked = (input) => {
    const picture = pictureIn(input);
    const said = textsOf(input);
    const content = picture ? [{ type: /** @type {const} */ ('text'), text: said }, { type: /** @type {const} */ ('image_url'), imageUrl: imagePart(picture).image_url }] : said;
    const user = { role: /** @type {const} */ ('user'), content };
    const system = { role: /** @type {const} */ ('system'), content: input.instruction };
    const more = input.temperature === undefined ? {} : { temperature: input.temperature };
    return { model: input.model, messages: input.instruction === undefined ? [user] : [system, user], maxTokens: input.maxTokens, ...more };
  };
  return {
    text: (input) => client.chat(asked(input)),
    'text with a picture': (input) => client.chat(asked(input)),
    stream: (input) => whole(client.chatStream(asked(input))),
    object: (input) => client.chat({ ...asked(input), responseFormat: { type: 'json_object', jsonSchema: input.schema } }),
    embed: ({ model, values }) => client.embed({ model, texts: values, inputType: 'search_document', embeddingTypes: ['float'] }),
    models: () => v1.models.list({ pageSize: 1000 }),
    check: () => v1.checkApiKey(),
  };
}

export async function groq({ values: { apiKey } }) {
  const { default: Groq } = await import('groq-sdk');
  const client = new Groq({ apiKey, maxRetries: 0 });
  const asked = (input) => ({ model: input.model, messages: messagesOf(input), max_tokens: input.maxTokens, temperature: input.temperature });
  return {
    text: (input) => client.chat.completions.create(asked(input)),
    stream: (input) => whole(client.chat.completions.create({ ...asked(input), stream: true })),
    object: (input) => client.chat.completions.create({ ...asked(input), response_format: formatOf(input) }),
    models: () => client.models.list(),
    check: () => client.models.list(),
    speech: ({ model, prompt, voice }) => drained(client.audio.speech.create({ model, input: prompt, voice, response_format: 'wav' })),
    transcription: ({ model, sources: [file] }) => client.audio.transcriptions.create({ model, file: fileOf(file), response_format: 'verbose_json', timestamp_granularities: ['segment'] }),
  };
}

export async function togetherai({ values: { apiKey } }) {
  const { default: Together } = await import('together-ai');
  const client = new Together({ apiKey, maxRetries: 0 });
  const asked = (input) => ({ model: input.model, messages: messagesOf(input), max_tokens: input.maxTokens, temperature: input.temperature });
  const sides = (size) => {
    const [width, height] = size.split('x').map(Number);
    return { width, height };
  };
  return {
    text: (input) => client.chat.completions.create(asked(input)),
    'text with a picture': (input) => client.chat.completions.create(asked(input)),
    stream: (input) => whole(client.chat.completions.create({ ...asked(input), stream: true })),
    object: (input) => client.chat.completions.create({ ...asked(input), response_format: formatOf(input) }),
    embed: ({ model, values }) => client.embeddings.create({ model, input: values }),
    models: () => client.models.list(),
    check: () => client.models.list(),
    image: ({ model, prompt, size, count }) => client.images.generate({ model, prompt, n: count, ...sides(size), response_format: 'base64' }),
    async video({ model, prompt, size, seconds, sources: [picture] }) {
      const { id } = await client.videos.create({ model, prompt, seconds: String(seconds), ...sides(size), media: { frame_images: [{ input_image: picture.publicUrl, frame: 'first' }] } });
      await ended(() => client.videos.retrieve(id), ['completed']);
    },
    speech: ({ model, prompt }) => drained(client.audio.speech.create({ model, input: prompt, voice: 'af_heart', response_format: 'mp3' })),
    transcription: ({ model, language, sources: [file] }) => client.audio.transcriptions.create({ model, language, file: fileOf(file), response_format: 'verbose_json', timestamp_granularities: 'segment' }),
  };
}

export async function replicate({ values: { apiKey } }) {
  const { default: Replicate } = await import('replicate');
  const client = new Replicate({ auth: apiKey });
  const predict = (input) => async (asked) => {
    const { callbackUrl } = asked;
    const told = callbackUrl === undefined ? {} : { webhook: callbackUrl, webhook_events_filter: [/** @type {const} */ ('completed')] };
    const { id } = await client.predictions.create({ model: asked.model, input: input(asked), wait: false, ...told });
    await ended(() => client.predictions.get(id), ['succeeded']);
  };
  return {
    video: predict(({ prompt, ratio, seconds }) => ({ prompt, aspect_ratio: ratio, duration: seconds })),
    image: predict(({ prompt, count }) => ({ prompt, num_outputs: count })),
    edit: predict(({ prompt, sources }) => ({ prompt, image_input: sources.map(({ publicUrl }) => publicUrl) })),
    music: predict(({ prompt }) => ({ prompt })),
    speech: predict(({ prompt, voice }) => ({ prompt, voice })),
    cancel: ({ id }) => client.predictions.cancel(id),
    find: () => client.predictions.list(),
    check: () => client.accounts.current(),
  };
}

export async function runway({ values: { apiKey } }) {
  const { default: RunwayML } = await import('@runwayml/sdk');
  const client = new RunwayML({ apiKey, maxRetries: 0 });
  async function ran(started) {
    const { id } = await started;
    await ended(() => client.tasks.retrieve(id), ['SUCCEEDED']);
  }
  return {
    video: ({ model, prompt, seconds }) => ran(client.textToVideo.create({ model, promptText: prompt, ratio: '720:1280', duration: seconds })),
    'video from a picture': ({ model, seconds, sources: [picture] }) => ran(client.imageToVideo.create({ model, ratio: '1280:720', duration: seconds, promptImage: picture.publicUrl })),
    image: ({ model, prompt }) => ran(client.textToImage.create({ model, promptText: prompt, ratio: '1024:1024' })),
    'image by Gemini': ({ model, prompt }) => ran(client.textToImage.create({ model, promptText: prompt, ratio: '1344:768' })),
    edit: ({ model, prompt, sources: [picture] }) => ran(client.textToImage.create({ model, promptText: prompt, ratio: '1920:1080', referenceImages: [{ uri: picture.publicUrl }] })),
    'edit of a film': ({ model, prompt, sources: [film] }) => ran(client.videoToVideo.create({ model, promptText: prompt, videoUri: film.publicUrl })),
    avatar: ({ model, sources: [picture, film] }) =>
      ran(client.characterPerformance.create({ model, character: { type: 'image', uri: picture.publicUrl }, reference: { type: 'video', uri: film.publicUrl }, ratio: '1280:720' })),
    speech: ({ model, prompt, voice }) => ran(client.textToSpeech.create({ model, promptText: prompt, voice: { type: 'runway-preset', presetId: voice } })),
    cancel: ({ id }) => client.tasks.delete(id),
    check: () => client.organization.retrieve(),
  };
}

export async function elevenlabs({ values: { apiKey, region } }) {
  const { ElevenLabsClient, ElevenLabsEnvironment } = await import('@elevenlabs/elevenlabs-js');
  const client = new ElevenLabsClient({ apiKey, maxRetries: 0, ...(region === 'eu' && { environment: ElevenLabsEnvironment.ProductionEu }) });
  const outputFormat = 'mp3_44100_128';
  return {
    speech: async ({ model, prompt, voice, language }) => whole(client.textToSpeech.convert(voice, { text: prompt, modelId: model, languageCode: language, outputFormat })),
    'speech in Europe, without a price': ({ model, prompt }) => whole(client.textToSpeech.convert('JBFqnCBsd6RMkjVDRZzb', { text: prompt, modelId: model, outputFormat })),
    music: ({ model, prompt, seconds }) => whole(client.music.compose({ prompt, musicLengthMs: 1000 * seconds, modelId: model, outputFormat })),
    transcription: ({ model, language, sources: [file] }) => client.speechToText.convert({ modelId: model, file: fileOf(file), languageCode: language, timestampsGranularity: 'word' }),
    'tools voices': () => client.voices.search({ pageSize: 100 }),
    check: () => client.user.subscription.get(),
  };
}

export async function deepgram({ values: { apiKey } }) {
  const { DeepgramClient } = await import('@deepgram/sdk');
  const client = new DeepgramClient({ apiKey, maxRetries: 0 });
  return {
    speech: async ({ model, prompt }) => void (await (await client.speak.v1.audio.generate({ text: prompt, model, encoding: 'mp3' })).arrayBuffer()),
    transcription: ({ model, language, sources: [file] }) => client.listen.v1.media.transcribeFile(fileOf(file), { model, language, smart_format: true, utterances: true }),
    check: () => client.manage.v1.projects.list(),
  };
}

export async function fal({ values: { apiKey } }) {
  const { createFalClient } = await import('@fal-ai/client');
  const { queue } = createFalClient({ credentials: apiKey });
  const ran = (input) => async (asked) => {
    const { model, callbackUrl } = asked;
    const { request_id: requestId } = await queue.submit(model, { input: input(asked), ...(callbackUrl && { webhookUrl: callbackUrl }) });
    await ended(() => queue.status(model, { requestId }), ['COMPLETED']);
    await queue.result(model, { requestId });
  };
  return {
    video: ran(({ prompt, seconds, ratio }) => ({ prompt, aspect_ratio: ratio, duration: `${seconds}s` })),
    cancel: ({ model, id }) => queue.cancel(model, { requestId: id }),
  };
}
