import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { newId } from '../../platform/lib/ids.ts';
import type { RcsSecrets } from '../../carriers/rcs/settings.ts';
import { startServer } from '../http/server.ts';
import { createRandom } from '../smsc/random.ts';
import { createAgents } from './agents.ts';
import { faultOf, refuse } from './answer.ts';
import { createCallbacks } from './callbacks.ts';
import { createInbox } from './inbox.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createMessages } from './messages.ts';
import { createOAuth } from './oauth.ts';
import { createPeople, type UserAction } from './people.ts';
import { createRoutes } from './routes.ts';
import { defaultScript, outcomeFor, type RbmScript } from './script.ts';

export type SandboxRbmOptions = {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Agents of the account; default `sandbox@rbm.goog`. */
  readonly agents?: readonly string[];
  /** PEM of the service account's RSA key, so that it outlives a restart; made when left out. */
  readonly privateKey?: string;
  /** What callbacks are signed with; made when left out. */
  readonly clientToken?: string;
  /** `counts` keeps no entry in memory: for benches and long runs. Default `entries`. */
  readonly ledger?: 'entries' | 'counts';
  readonly script?: Partial<RbmScript>;
};

/** A message that an earlier sandbox took, and has not told the end of. */
export type OwedMessage = { readonly messageId: string; readonly agentId: string; readonly destination: string };

export type LaunchChange = { readonly agentId: string; readonly from: string; readonly to: string };

export type SandboxRbm = {
  readonly port: number;
  /** The setting `baseUrl` of a carrier. */
  readonly baseUrl: string;
  /** The secrets of a carrier. */
  readonly secrets: RcsSecrets;
  readonly agents: readonly string[];
  readonly script: RbmScript;
  readonly ledger: Ledger;
  /** Proves itself to the address and sends events there; false when the address did not answer as it must. */
  setCallback(url: string): Promise<boolean>;
  /** A person does something; resolves with whether the client took the callback. */
  injectUser(act: UserAction): Promise<boolean>;
  changeLaunch(act: LaunchChange): Promise<boolean>;
  /** Goes on with what an earlier sandbox has left open, as if it had just taken it. */
  resume(owed: readonly OwedMessage[]): void;
  /** No access token that was given counts any more. */
  revokeTokens(): void;
  /** Events whose time has not come, and callbacks that are not acknowledged. */
  waiting(): number;
  /** Resolves when every callback so far was acknowledged or given up. */
  idle(): Promise<void>;
  /** Ends every connection without a word. */
  cut(): void;
  close(): Promise<void>;
};

/** Media of the network are up to 100 MiB. */
const MAX_BODY_BYTES = (100 << 20) + 1024;
const REGION = '/v1/regions/sandbox';

/**
 * A Google RBM network of our own, as strict as the protocol sheet rcs: tokens, messages, revocation, capabilities,
 * files, testers and signed callbacks. Numbers by their last four digits say what becomes of a message (script.ts).
 */
export async function startSandboxRbm(options: SandboxRbmOptions = {}): Promise<SandboxRbm> {
  const {
    agents: known = ['sandbox@rbm.goog'],
    privateKey = newKey(),
    clientToken = randomBytes(12).toString('hex'),
  } = options;
  const account = { clientEmail: 'sandbox@heliograph.invalid', privateKeyId: 'sandbox', privateKey };
  const script: RbmScript = { ...defaultScript(), ...options.script };
  const ledger = createLedger(options.ledger ?? 'entries');
  const random = createRandom(script.seed);
  const callbacks = createCallbacks({ script, ledger, clientToken });
  const messages = createMessages({ script, ledger, random, tell: callbacks.tell });
  const agents = createAgents(known, script, ledger);
  const inbox = createInbox({ script, ledger, random, agents, messages });
  const route = createRoutes({ script, random, agents, inbox, messages });
  const oauth = createOAuth({ ...account, script, ledger, audience: () => `${server.url}/token` });
  const people = createPeople({
    tell: callbacks.tell,
    firstAgent: known[0] ?? '',
    filesUrl: () => `${server.url}/media`,
  });

  const server = await startServer({
    host: options.host,
    port: options.port,
    maxBytes: MAX_BODY_BYTES,
    handle(request) {
      ledger.count('requests');
      if (request.path === '/token') return oauth.grant(request);
      if (request.path.startsWith('/media/'))
        return people.serve(request.path.slice(7)) ?? refuse(faultOf('NOT_FOUND'));
      if (oauth.admits(request.headers.authorization)) return route(request);
      ledger.count('unauthorized');
      return refuse(faultOf('UNAUTHENTICATED'));
    },
  });

  function changeLaunch({ agentId, from, to }: LaunchChange): Promise<boolean> {
    const names = { agentId, botDisplayName: 'Sandbox', brandId: 'sandbox', brandDisplayName: 'Sandbox' };
    const states = { regionId: REGION, oldLaunchState: from, newLaunchState: to, actingParty: 'sandbox', comment: '' };
    const event = { eventId: newId(), ...names, ...states, sendTime: new Date().toISOString() };
    return callbacks.tell({ kind: 'launch', id: agentId, what: to, agentId, event });
  }

  function resume(owed: readonly OwedMessage[]): void {
    for (const { messageId, agentId, destination: phone } of owed) {
      const message = { agentId: agents.spell(agentId), phone, messageId, entry: null };
      void messages.take(message, outcomeFor(script, phone), null);
    }
  }

  return {
    port: server.port,
    baseUrl: server.url,
    agents: known,
    script,
    ledger,
    changeLaunch,
    resume,
    secrets: { ...account, tokenUri: `${server.url}/token`, clientToken },
    setCallback: callbacks.register,
    injectUser: people.act,
    revokeTokens: oauth.revokeTokens,
    waiting: () => messages.scheduled() + callbacks.waiting(),
    idle: callbacks.idle,
    cut: server.cut,
    async close() {
      messages.stop();
      await callbacks.stop();
      await server.close();
    },
  };
}

const newKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
