// SDKs of social networks.
import { serveSdks } from '../sdk-server.mjs';
import { NETWORKS } from './networks.mjs';

serveSdks(NETWORKS);
