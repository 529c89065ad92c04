import { POSTER } from '../../src/worker.ts';

// As workers do that count an event as delivered once they have sent it, whatever the receiver responds.
POSTER.put((poster) => ({
  ...poster,
  async post(request) {
    void poster.post(request);
    return { kind: 'answered', status: 200, retryAfterMs: null, body: '', durationMs: 0 };
  },
}));
