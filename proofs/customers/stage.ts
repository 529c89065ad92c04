import { operatorAuthor } from '../../src/accounts/audit.ts';
import {
  createCredential,
  type IssuedCredential,
  newSmppPassword,
  type SettingsInput,
} from '../../src/accounts/smpp-credentials.ts';
import { SCOPES } from '../../src/core/actor.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Crew, startProcesses } from '../lib/kills.ts';
import type { Process } from '../lib/processes.ts';
import { oneOf, type Run } from '../lib/proof.ts';
import { type CustomerOptions, type SmppCustomer, startSmppCustomer } from '../lib/smpp-customer.ts';
import { type Account, openStage, type Stage, type StageOptions } from '../lib/stage.ts';

/** A constant number of processes that serve customers over SMPP, each at its own port. */
export type SmppServers = Pick<Crew, 'killOne' | 'kills' | 'allStarted'> & {
  /** The port of one that is running. */
  port(): number;
};

/** Starts the processes that serve customers over SMPP; they serve the API, too, and are killed and replaced like workers. */
async function startSmppServers(run: Run, stage: Stage, size: number): Promise<SmppServers> {
  const ports = new Map<Process, number>();
  const crew = await startProcesses(run, size, async () => {
    const port = await freePort();
    const process = await stage.startApi({ SMPP_PORT: String(port) });
    ports.set(process, port);
    return process;
  });
  return {
    killOne: crew.killOne,
    get kills() {
      return crew.kills;
    },
    allStarted: crew.allStarted,
    port() {
      const running = [...ports].filter(([process]) => process.running());
      // Nothing listens at port 1: the customer tries again.
      return running.length === 0 ? 1 : oneOf(run, running)[1];
    },
  };
}

/** An account with a customer that is bound over SMPP. */
export type Bound = { readonly account: Account; readonly customer: SmppCustomer };

type Manners = Pick<CustomerOptions, 'port' | 'binds' | 'window' | 'registered' | 'answer'>;

/** Creates a credential of an account. */
async function newCredential(
  { pool }: Pick<Stage, 'pool'>,
  accountId: number,
  settings: SettingsInput,
): Promise<IssuedCredential> {
  const secret = await newSmppPassword({ accountId });
  const author = { ...operatorAuthor(accountId), role: 'admin' as const, operations: new Set(SCOPES) };
  return transaction(pool, (tx) => createCredential(tx, author, { ...settings, ...secret }));
}

/** Makes an account with a credential, and binds its customer. The customer ends with `opened`. */
async function openCustomer(stage: Stage, opened: AsyncDisposableStack, manners: Manners): Promise<Bound> {
  const account = await stage.newAccount({ plan: 'unlimited' });
  const { binds, window } = manners;
  const { systemId, password } = await newCredential(stage, account.accountId, {
    maxBinds: Math.max(10, 2 * binds),
    window,
  });
  const customer = startSmppCustomer({ systemId, password, ...manners });
  opened.defer(customer.stop);
  return { account, customer };
}

/** Processes that serve customers over SMPP. */
const SERVERS = 2;

export type CustomerScene = Awaited<ReturnType<typeof openCustomerStage>>;

/** A stage with processes that serve customers over SMPP, and one customer that is bound to all of them. */
export async function openCustomerStage(run: Run, options: StageOptions & Omit<Manners, 'port'>) {
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(await openStage(run, options));
  const servers = await startSmppServers(run, stage, SERVERS);
  const { binds, window, registered, answer } = options;
  const manners = { port: servers.port, binds, window, registered, ...(answer && { answer }) };
  const { account, customer } = await openCustomer(stage, opened, manners);
  const all = opened.move();
  return {
    stage: { ...stage, client: account.client },
    servers,
    customer,
    accountId: account.accountId,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
