import { expect, test } from 'vitest';
import { bulkId } from '../../test/support/bulk-id.ts';
import { newId, newSingleId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { type AttemptResult, createAccountQueue, LANES, type QueuedEvent, type Target } from './account-queue.ts';
import { EVENTS } from './events.ts';

const eventOf = (messageId: string, status: number = STATUS.DELIVERED): QueuedEvent => ({
  accountId: 1,
  endpoint: 0,
  data: null,
  id: newId(),
  seq: 0,
  outboxId: 1,
  attempts: 0,
  kind: 'DELIVERY',
  messageId,
  status,
  at: new Date(),
  error: null,
  facts: EVENTS.DELIVERY.example[1],
});

const TARGET: Target = {
  id: 1,
  ref: 0,
  url: 'https://localhost',
  form: 'A',
  secrets: [],
  disabledReason: null,
  failingSince: null,
  updatedAt: new Date(),
  retry: 'full',
  showsAmounts: false,
  maxPerSecond: null,
  moreHeaders: {},
  accepts: null,
  fileUrl: () => '',
};
const ACKNOWLEDGED: AttemptResult = {
  kind: 'acknowledged',
  code: 200,
  at: new Date(),
  durationMs: 1,
  answer: null,
};

/** A queue that sends one event at a time, and the events that it has sent. */
function queueOfOne() {
  const sent: QueuedEvent[] = [];
  let answer: (result: AttemptResult) => void = () => undefined;
  const queue = createAccountQueue(
    { accountId: 1, endpoint: 0 },
    {
      send: (event) =>
        new Promise((resolve) => {
          sent.push(event);
          answer = resolve;
        }),
      share: () => 1,
      onSettled: () => undefined,
    },
  );
  queue.target = TARGET;
  return {
    sent,
    add(events: readonly QueuedEvent[]) {
      queue.add(events);
      LANES.forEach(queue.pump);
    },
    async acknowledge() {
      answer(ACKNOWLEDGED);
      await new Promise(setImmediate);
    },
    waiting: queue.waiting,
  };
}

test('the next event is that of a single send while one waits, each lane in its order', async () => {
  const { sent, add, acknowledge, waiting } = queueOfOne();
  const bulk = Array.from({ length: 3 }, () => eventOf(bulkId()));
  add(bulk);
  const [one, other] = [newSingleId(), newSingleId()];
  const singles = [eventOf(one, STATUS.ACCEPTED), eventOf(other), eventOf(one)];
  add(singles);
  while (waiting() > 0) await acknowledge();
  expect(sent).toEqual([bulk[0], ...singles, bulk[1], bulk[2]]);
});
