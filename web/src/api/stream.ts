import { useEffect, useEffectEvent, useState } from 'react';

/** One event of a stream, its data parsed from JSON and not yet looked at. */
export type StreamEvent = { readonly event: string; readonly id: string; readonly data: unknown };
export type StreamState = 'connecting' | 'live' | 'lost';

/**
 * Follows server-sent events as long as the component stands. The browser comes back by itself after a loss and sends
 * `Last-Event-ID`, so that nothing is missed. Where it gives up (the server was not there, or said no) we open it anew
 * after a moment; what was missed is not known then, so the event `reload` asks for everything to be fetched again, as
 * the server's own `reload` does.
 */
export function useStream(url: string, events: readonly string[], onEvent: (event: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const [turn, setTurn] = useState(0);
  const tell = useEffectEvent(onEvent);
  const names = events.join(',');
  useEffect(() => {
    const source = new EventSource(url);
    let retry: ReturnType<typeof setTimeout> | undefined;
    source.addEventListener('open', () => {
      setState('live');
      if (turn > 0) tell({ event: 'reload', id: '', data: null });
    });
    source.addEventListener('error', () => {
      setState('lost');
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(() => setTurn((last) => last + 1), RETRY_MS);
    });
    for (const name of names.split(',')) {
      source.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) =>
        tell({ event: name, id: lastEventId, data: parse(data) }),
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
