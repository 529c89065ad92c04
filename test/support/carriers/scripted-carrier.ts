import type { Carrier, Outcome, Submission } from '../../../src/channels/carrier.ts';

/** Decides the outcome of a submission; `time` is 1 for the first submission of the message. */
export type Script = (submission: Submission, time: number) => Outcome | Promise<Outcome>;

export type ScriptedCarrier = Carrier & {
  /** The ids of all submissions, in order. */
  readonly submitted: string[];
  /** The largest number of submissions in flight at the same time. */
  readonly maxInFlight: () => number;
  setUp(up: boolean): void;
  /** The callback that the host passes; called when there may be more room. */
  onChange: () => void;
};

export const accepted = (id: string): Outcome => ({ kind: 'accepted', carrierIds: [`c-${id}`] });
export const retry = (afterMs: number, counts = false, code = 'ESME_RTHROTTLED'): Outcome => ({
  kind: 'retry',
  afterMs,
  counts,
  code,
  text: 'later',
});
const NOT_SENT = retry(0, false, 'NOT_SENT');
const STOPPED: Outcome = { kind: 'unknown', text: 'stopped before the response', carrierIds: [] };

/** Creates a carrier in memory that keeps the contract and whose responses the test decides. */
export function createScriptedCarrier({
  window = 10,
  script = ({ messageId }) => accepted(messageId),
  paceOf,
}: {
  window?: number;
  script?: Script;
  paceOf?: Carrier['paceOf'];
} = {}): ScriptedCarrier {
  const times = new Map<string, number>();
  const open = new Set<PromiseWithResolvers<Outcome>>();
  let up = true;
  let stopped = false;
  let most = 0;

  const carrier: ScriptedCarrier = {
    channels: ['SMS'],
    submitted: [],
    maxInFlight: () => most,
    onChange: () => undefined,
    start: () => undefined,
    ...(paceOf && { paceOf }),
    room: () => (up && !stopped ? window - open.size : 0),
    async submit(submission) {
      if (!up || stopped) return NOT_SENT;
      const { messageId } = submission;
      carrier.submitted.push(messageId);
      times.set(messageId, (times.get(messageId) ?? 0) + 1);
      const answer = Promise.withResolvers<Outcome>();
      open.add(answer);
      most = Math.max(most, open.size);
      void Promise.resolve(script(submission, times.get(messageId) ?? 1)).then(answer.resolve);
      const outcome = await answer.promise;
      open.delete(answer);
      carrier.onChange();
      return outcome;
    },
    state: () => ({
      up: up && !stopped,
      bindsUp: up ? 1 : 0,
      bindsWanted: 1,
      allLinksUp: up && !stopped,
      inFlight: open.size,
      fault: null,
    }),
    setUp(next) {
      up = next;
      carrier.onChange();
    },
    async stop(deadlineMs) {
      stopped = true;
      const timer = setTimeout(() => {
        for (const answer of open) answer.resolve(STOPPED);
      }, deadlineMs);
      await Promise.all([...open].map((answer) => answer.promise));
      clearTimeout(timer);
    },
  };
  return carrier;
}
