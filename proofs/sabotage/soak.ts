import { CARRIER } from '../../src/worker.ts';

const everSettled: object[] = [];

// As a map does from which nothing is ever deleted.
CARRIER.put((carrier) => ({
  ...carrier,
  async submit(submission) {
    const outcome = await carrier.submit(submission);
    everSettled.push({ submission, outcome });
    return outcome;
  },
}));
