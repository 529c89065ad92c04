import type { Notice } from '../../../carriers/events.ts';
import { type LaunchChange, readRcsCallback } from '../../../carriers/rcs/callbacks.ts';
import { createRcsCarrier } from '../../../carriers/rcs/carrier.ts';
import { parseRcsSecrets, parseRcsSettings, RcsSettings } from '../../../carriers/rcs/settings.ts';
import { bareAgentId } from '../../../carriers/rcs/agent-id.ts';
import type { CallbackAnswer, ReadCallback } from './callback.ts';
import { addressOfUrl } from './address.ts';
import { rcsFiles } from './files.ts';
import type { Kind } from './kind.ts';
import { jsonSecret } from './secret.ts';
import { settingFields } from './setting-fields.ts';

const SECRET = jsonSecret(
  [
    {
      name: 'serviceAccount',
      description: 'The key file of the service account, as Google issues it.',
      type: 'json',
      generated: false,
    },
    {
      name: 'clientToken',
      description: 'The client token that Google shows next to the webhook, with which it signs the callbacks.',
      type: 'text',
      generated: true,
    },
  ],
  parseRcsSecrets,
);

const SIGNATURE_HEADER = 'x-goog-signature';

/** Google RBM. */
export const rcsKind: Kind = {
  title: 'RCS',
  leadsTo: 'a Google RBM partner account',
  channel: 'RCS',
  settings: settingFields(RcsSettings, { main: ['baseUrl', 'trafficType', 'tps'] }),
  secret: SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseRcsSettings,
  createCarrier: (settings, secret) => createRcsCarrier(parseRcsSettings(settings), secretsOf(secret)),
  tpsOf: (settings) => parseRcsSettings(settings).tps,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(parseRcsSettings(settings).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps } = parseRcsSettings(settings);
    return { window: concurrency, perSecond: tps };
  },
  // An agent is not tied to settings: its id is first named when it is assigned.
  senderIdsOf: () => [],
  showExchange: null,
  setup: null,
  callbacks: {
    verification: null,
    signatureHeader: SIGNATURE_HEADER,
    // An event contains addresses of files, not the files.
    maxBodyBytes: 512 * 1024,
    // The handshake has a token instead of a signature.
    maxUnsignedBytes: 4096,
    createReader: (_settings, secret) => readWith(secretsOf(secret).clientToken),
  },
  createFileSource: (settings) => rcsFiles(parseRcsSettings(settings)),
  createTemplateClient: null,
};

const secretsOf = (secret: string) => parseRcsSecrets(JSON.parse(secret));

/** States of a launch after which an agent does not reach the people of a network. */
const SERIOUS_STATES: readonly string[] = ['REJECTED', 'SUSPENDED', 'UNLAUNCHED'];

const noticeOf = ({ agentId, regionId, state, comment }: LaunchChange): Notice => ({
  subject: `agent ${agentId} ${regionId}`.slice(0, 200).toWellFormed(),
  text: `The agent ${agentId} is ${state} in ${regionId}${comment === '' ? '' : `: ${comment}`}`
    .replaceAll('\0', '')
    .slice(0, 1000)
    .toWellFormed(),
  serious: SERIOUS_STATES.includes(state),
});

const readWith =
  (clientToken: string): ReadCallback =>
  ({ body, headers }): CallbackAnswer => {
    const signature = headers[SIGNATURE_HEADER];
    const read = readRcsCallback({ rawBody: body, signature: [signature].flat()[0], clientToken });
    if (read.kind !== 'events') return read;
    const { receipts, inbounds, subscriptions, launches, other } = read;
    return {
      kind: 'events',
      receipts,
      inbounds: inbounds.map((inbound) => ({ ...inbound, destination: bareAgentId(inbound.destination) })),
      subscriptions: subscriptions.map(({ agentId, ...rest }) => ({ ...rest, identity: bareAgentId(agentId) })),
      templates: [],
      notices: launches.map(noticeOf),
      notes: other.flatMap(({ eventType }) => (eventType === 'IS_TYPING' ? [] : [eventType])),
    };
  };
