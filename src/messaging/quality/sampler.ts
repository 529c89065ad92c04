import type { Result } from '../../network/dispatch/commit.ts';
import { callingCodeOf } from '../../platform/lib/phone/phone.ts';
import type { NewSample } from './sql.ts';

/** Samples of a connection and country between two calls of `take`. */
const SAMPLES_PER_TAKE = 5;
/** Sampling rate of large batches: their messages are alike, and this runs for every message. */
const STRIDE = 8;
const MIN_STRIDED = 64;

export type Sampler = {
  /** Samples responses of carriers, and remembers a few. Takes some 0.2 µs per message. */
  note(results: readonly Result[]): void;
  /** Removes and returns the samples since the last call, at most five of each connection and country. */
  take(): NewSample[];
};

/** Memory for a connection and country: a random choice of all that were seen (reservoir sampling). */
type Reservoir = { seen: number; readonly samples: NewSample[] };

/**
 * Creates the memory of messages that show the quality of connections: only SMS that want a receipt and that the
 * carrier took, rejected or did not answer. Samples in memory are lost with the process, which makes a few samples
 * less.
 */
export function createSampler(now: () => Date = () => new Date()): Sampler {
  let reservoirs = new Map<string, Reservoir>();
  function add(result: Result, country: string): void {
    const { accountId, messageId, connectionId } = result;
    const key = `${connectionId}/${country}`;
    let reservoir = reservoirs.get(key);
    if (!reservoir) {
      reservoir = { seen: 0, samples: [] };
      reservoirs.set(key, reservoir);
    }
    const place = Math.floor(Math.random() * ++reservoir.seen);
    const at = reservoir.samples.length < SAMPLES_PER_TAKE ? reservoir.samples.length : place;
    if (at < SAMPLES_PER_TAKE)
      reservoir.samples[at] = { accountId, messageId, connectionId, country, answeredAt: now() };
  }
  return {
    note(results) {
      const isLarge = results.length >= MIN_STRIDED;
      const first = isLarge ? Math.floor(Math.random() * STRIDE) : 0;
      for (let i = first; i < results.length; i += isLarge ? STRIDE : 1) {
        const result = results[i];
        if (!result || !tells(result)) continue;
        const country = callingCodeOf(result.job?.destination.slice(1) ?? '');
        if (country !== null) add(result, country);
      }
    },
    take() {
      const taken = [...reservoirs.values()].flatMap(({ samples }) => samples);
      reservoirs = new Map();
      return taken;
    },
  };
}

const tells = ({ job, outcome }: Result): boolean =>
  job !== null && job.channel === 'SMS' && job.wantReceipt && job.refusal === undefined && outcome.kind !== 'retry';
