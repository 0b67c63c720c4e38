// SDKs of vendors of language models and media.
import { serveSdks } from '../sdk-server.mjs';
import * as vendors from './vendors.mjs';

serveSdks(vendors);
