import type { FastifyRequest } from 'fastify';
import { Gauge } from 'prom-client';
import { createLoopWatch } from '../lib/background/loop-watch.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { App } from './app.ts';
import { routeOf } from './request-id.ts';

/** Minimum length of a reported hold: everything else waits for that long. */
const LONG_MS = 50;
/** Minimum interval between two reports. */
const REPORT_EVERY_MS = 60_000;

type Deps = { readonly log: Pick<AppLog, 'warn'>; readonly metrics: Pick<Metrics, 'registry'> };

/**
 * Measures how long the routes registered after this hold the event loop at a stretch: /metrics shows the longest hold
 * of each since the last scrape, and at most once a minute the log names the worst one that took more than 50 ms.
 */
export function observeLoopHolds(app: App, { log, metrics }: Deps, reportEveryMs = REPORT_EVERY_MS): void {
  const longest = createLongestHolds(metrics);
  const report = createReport(log, reportEveryMs);
  const watch = createLoopWatch((holder, ms) => {
    longest.add(holder, ms);
    if (ms > LONG_MS) report(holder, ms);
  });
  app.addHook('onRequest', (request, _reply, done) => {
    watch.begin(holderOf(request));
    done();
  });
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // The body is parsed when its last bytes arrive, long after the hooks before it.
    if (hasBody(request)) payload.once('end', () => watch.begin(holderOf(request)));
    done(null, payload);
  });
  app.addHook('preValidation', (request, _reply, done) => watch.run(holderOf(request), done));
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    watch.begin(holderOf(request));
    done(null, payload);
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    watch.begin(holderOf(request));
    done(null, payload);
  });
}

const holderOf = (request: FastifyRequest): string => `${request.method} ${routeOf(request)}`;

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

function createLongestHolds({ registry }: Pick<Metrics, 'registry'>) {
  const longestMs = new Map<string, number>();
  new Gauge({
    name: 'heliograph_event_loop_hold_seconds',
    help: 'Longest uninterrupted hold of the event loop by a route since the last scrape',
    labelNames: ['method', 'route'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [holder, ms] of longestMs) {
        const [method = '', route = ''] = holder.split(' ');
        this.set({ method, route }, ms / 1000);
      }
      longestMs.clear();
    },
  });
  return {
    add(holder: string, ms: number): void {
      if (ms > (longestMs.get(holder) ?? 0)) longestMs.set(holder, ms);
    },
  };
}

/** Returns a function that logs the first long hold immediately, and after that the worst one of each interval. */
function createReport(log: Pick<AppLog, 'warn'>, everyMs: number) {
  let worst: { readonly holder: string; readonly ms: number } | undefined;
  let pause: NodeJS.Timeout | undefined;
  function report(): void {
    pause = undefined;
    if (worst === undefined) return;
    const { holder, ms } = worst;
    log.warn({ route: holder, ms: Math.round(ms) }, 'a request held the event loop: all others waited');
    worst = undefined;
    pause = setTimeout(report, everyMs).unref();
  }
  return (holder: string, ms: number): void => {
    if (ms > (worst?.ms ?? 0)) worst = { holder, ms };
    if (pause === undefined) report();
  };
}
