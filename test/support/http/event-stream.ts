const STREAM = '/api/partner-gateway/v1/inbox/conversations/stream';

/** The live view of an inbox, as its client sees it. */
export type EventStream = AsyncDisposable & {
  readonly status: number;
  /** All that has arrived so far. */
  received(): string;
};

/** Opens the live view of an account's inbox, and reads it until it is disposed of. */
export async function openEventStream(origin: string, apiKey: string): Promise<EventStream> {
  const ending = new AbortController();
  const response = await fetch(`${origin}${STREAM}`, {
    headers: { 'x-api-key': apiKey, accept: 'text/event-stream' },
    signal: ending.signal,
  });
  let received = '';
  const reading = (async () => {
    for await (const chunk of response.body ?? []) received += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  return {
    status: response.status,
    received: () => received,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}
