import { CARRIER } from '../../src/worker.ts';

// As clients do that send a message again until a response reports success: the provider may have passed it on.
CARRIER.put((carrier) => ({
  ...carrier,
  async submit(submission) {
    const outcome = await carrier.submit(submission);
    if (outcome.kind !== 'unknown') return outcome;
    return { kind: 'retry', afterMs: 0, counts: false, code: '', text: outcome.text };
  },
}));
