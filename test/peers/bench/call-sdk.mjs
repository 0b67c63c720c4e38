// The actor server and the actor proxy of @dapr/dapr, both in one process beside one sidecar.
import { AbstractActor, ActorId, ActorProxyBuilder, CommunicationProtocolEnum, DaprClient, DaprServer, LogLevel } from '@dapr/dapr';
import { answering, settings } from './answering.mjs';

class SdkBench extends AbstractActor {
  async empty() {}
}
const logger = { level: LogLevel.Error };
const clientOptions = {
  daprHost: '127.0.0.1',
  daprPort: String(settings.httpPort),
  daprApiToken: settings.apiToken,
  communicationProtocol: CommunicationProtocolEnum.HTTP,
  logger,
};
const server = new DaprServer({ serverHost: '127.0.0.1', serverPort: String(settings.appPort), communicationProtocol: CommunicationProtocolEnum.HTTP, clientOptions, logger });

const proxies = [];
answering({
  async start() {
    await server.actor.init();
    await server.actor.registerActor(SdkBench);
    await server.start();
  },
  ready() {
    const builder = new ActorProxyBuilder(SdkBench, new DaprClient(clientOptions));
    for (let n = 0; n < 64; n++) proxies.push(builder.build(new ActorId(`caller-${n}`)));
  },
  async calls({ ms }) {
    const { allCalls } = await import(settings.calls);
    return allCalls({ empty: (caller) => proxies[caller].empty() }, ms);
  },
});
