import { useEffect, useEffectEvent, useState } from 'react';

/** One server-sent event; `data` is parsed JSON, not validated. */
export type StreamEvent = { readonly event: string; readonly id: string; readonly data: unknown };
export type StreamState = 'connecting' | 'live' | 'lost';

/**
 * Follows server-sent events while the component is mounted. After an interruption the browser reconnects and sends
 * `Last-Event-ID`, so that no event is missed. If it gives up (the server was down or returned an error), the stream is
 * opened again after a delay; since events may have been missed then, a `reload` event asks for everything to be
 * refetched, like the server's own `reload`.
 */
export function useStream(url: string, events: readonly string[], onEvent: (event: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const [turn, setTurn] = useState(0);
  const handle = useEffectEvent(onEvent);
  const names = events.join(',');
  useEffect(() => {
    const source = new EventSource(url);
    let retry: ReturnType<typeof setTimeout> | undefined;
    source.addEventListener('open', () => {
      setState('live');
      if (turn > 0) handle({ event: 'reload', id: '', data: null });
    });
    source.addEventListener('error', () => {
      setState('lost');
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(() => setTurn((last) => last + 1), RETRY_MS);
    });
    for (const name of names.split(',')) {
      source.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) =>
        handle({ event: name, id: lastEventId, data: parse(data) }),
      );
    }
    return () => {
      clearTimeout(retry);
      source.close();
    };
  }, [url, names, turn]);
  return state;
}

const RETRY_MS = 3_000;

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
