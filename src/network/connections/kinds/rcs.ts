import { readRcsCallback } from '../../../carriers/rcs/callbacks.ts';
import { createRcsCarrier } from '../../../carriers/rcs/carrier.ts';
import { parseRcsSecrets, parseRcsSettings } from '../../../carriers/rcs/settings.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import type { CallbackAnswer, ReadCallback } from './callback.ts';
import { addressOfUrl } from './address.ts';
import { rcsFiles } from './files.ts';
import type { Kind } from './kind.ts';

/** Google RBM. The secret is a service account's key and the token that callbacks are signed with. */
export const rcsKind: Kind = {
  channel: 'RCS',
  parseSettings: parseRcsSettings,
  parseSecret: (secret) => JSON.stringify(parseRcsSecrets(secret)),
  createCarrier: (settings, secret) => createRcsCarrier(parseRcsSettings(settings), secretsOf(secret)),
  tpsOf: (settings) => parseRcsSettings(settings).tps,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(parseRcsSettings(settings).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps } = parseRcsSettings(settings);
    return { window: concurrency, perSecond: tps };
  },
  ownToken: 'clientToken',
  createReader: (_settings, secret) => readWith(secretsOf(secret).clientToken),
  createFileSource: (settings) => rcsFiles(parseRcsSettings(settings)),
};

const secretsOf = (secret: string) => parseRcsSecrets(JSON.parse(secret));

const readWith =
  (clientToken: string): ReadCallback =>
  ({ body, headers }): CallbackAnswer => {
    const signature = headers['x-goog-signature'];
    const read = readRcsCallback({ rawBody: body, signature: [signature].flat()[0], clientToken });
    if (read.kind !== 'events') return read;
    const { receipts, inbounds, subscriptions, launches, other } = read;
    return {
      kind: 'events',
      receipts,
      inbounds: inbounds.map((inbound) => ({ ...inbound, destination: bareAgentId(inbound.destination) })),
      subscriptions: subscriptions.map(({ agentId, ...rest }) => ({ ...rest, identity: bareAgentId(agentId) })),
      templates: [],
      notes: [
        ...launches.map((change) => `agent ${change.agentId} is ${change.state} in ${change.regionId}`),
        ...other.flatMap(({ eventType }) => (eventType === 'IS_TYPING' ? [] : [eventType])),
      ],
    };
  };
