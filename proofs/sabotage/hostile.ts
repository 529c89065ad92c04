// The fault is named by the query of this module's URL. What it changes is imported only when it is known, because a part
// that was created before its fault is put in has none.
import type { FairQueue } from '../../src/core/fair-queue.ts';

const { searchParams } = new URL(import.meta.url);

/** A queue in which nothing waits. */
const OPEN: FairQueue = {
  enter: () => Promise.resolve({ [Symbol.dispose]: () => undefined }),
  run: (_, work) => work(),
};

async function takeTurnsOut(of: string): Promise<void> {
  const { TURNS } = await import('../../src/core/fair-queue.ts');
  TURNS.put((part) => (part.name === of ? { ...part, queue: OPEN } : part));
}

const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
  // Three repetitions that all match blanks take cubic time on `{{` and many blanks.
  async placeholders() {
    const { COMMIT_ONE } = await import('../../src/messages/accept.ts');
    COMMIT_ONE.put((commit) => (item) => {
      /\{\{\s*([^{}|]+?)\s*\}\}/.test(item.draft.body);
      return commit(item);
    });
  },
  database: () => takeTurnsOut('database'),
  passwords: () => takeTurnsOut('passwords'),
  async pdus() {
    const { PDU_BUDGET } = await import('../../src/smpp-server/server.ts');
    const always = (): boolean => true;
    const unlimited = { request: always, fault: always, stray: always, expectLate: () => undefined, isResting: false };
    PDU_BUDGET.put(() => () => unlimited);
  },
  async pipelining() {
    const { ONE_AT_A_TIME } = await import('../../src/core/http/server.ts');
    ONE_AT_A_TIME.put(() => (handle) => handle);
  },
  async 'account-rate'() {
    const { REQUESTS } = await import('../../src/accounts/authenticate.ts');
    const NO_LIMIT = { perMinute: 1e9, perSecond: 1e9 };
    REQUESTS.put((limiter) => ({
      ...limiter,
      take: (name, rate) => limiter.take(name, name.startsWith('A') ? NO_LIMIT : rate),
    }));
  },
};

await FAULTS[searchParams.get('fault') ?? '']?.();
