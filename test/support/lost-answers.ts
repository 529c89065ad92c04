import net from 'node:net';

/** A relay in front of the database that loses the response to a commit: the worst moment for a connection to end. */
export type LostAnswers = AsyncDisposable & {
  readonly connectionString: string;
  /** Discards the response to the next transaction of several statements, but for that of alerts, and closes its connection. */
  loseNext(): void;
  lost(): number;
};

const EXECUTE = Buffer.from('45000000090000000000', 'hex');
const SYNC = Buffer.from('5300000004', 'hex');

/** Returns true if these bytes contain a COMMIT, or two statements followed by a Sync (src/core/db/pipeline.ts). */
function endsTransaction(bytes: Buffer): boolean {
  const first = bytes.indexOf(EXECUTE);
  const second = bytes.indexOf(EXECUTE, first + EXECUTE.length);
  const isPipeline = first >= 0 && second >= 0 && bytes.indexOf(SYNC, first) > second;
  return isPipeline || bytes.includes('COMMIT');
}

export async function startLostAnswers(connectionString: string): Promise<LostAnswers> {
  const target = new URL(connectionString);
  const sockets = new Set<net.Socket>();
  let armed = false;
  let lost = 0;

  function relay(client: net.Socket): void {
    const server = net.connect(Number(target.port), target.hostname);
    let cut = false;
    /** True in a transaction of alerts, which every process evaluates and sends. */
    let isEvaluation = false;
    const end = (): void => {
      for (const socket of [client, server]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, server]) sockets.add(socket.on('error', end).on('close', end));
    client.on('data', (bytes: Buffer) => {
      isEvaluation ||= bytes.includes('alert_');
      if (endsTransaction(bytes)) {
        if (armed && !isEvaluation) [armed, cut] = [false, true];
        isEvaluation = false;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!cut) return void client.write(bytes);
      lost++;
      end();
    });
  }

  const listener = net.createServer(relay);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const url = new URL(connectionString);
  // Without the parameter that names the socket.
  url.search = '';
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  return {
    connectionString: url.href,
    loseNext: () => {
      armed = true;
    },
    lost: () => lost,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
