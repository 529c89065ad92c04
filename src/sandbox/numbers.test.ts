import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { verdictOf } from '../channels/rcs/client.ts';
import { readReceipt } from '../channels/smpp/receipts.ts';
import { statusOfFailure } from '../channels/whatsapp/client.ts';
import { STATUS, statusClass } from '../smpp/status.ts';
import * as graph from './graph-script.ts';
import * as rbm from './rbm-script.ts';
import { faultOf, refuse } from './rbm-script.ts';
import * as smsc from './smsc-script.ts';

// Compares the table of docs/api.md with the scripts of the simulators, in the words of the table.

const PAGE = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const SECTION = PAGE.split('### Numbers of the sandbox')[1]?.split('\n#')[0] ?? '';

/** The table with these columns: by the last digits, the cells of its rows. */
function tableOf(...columns: readonly string[]): Record<string, string[]> {
  const lines =
    SECTION.split(`| ${['Number ends in', ...columns].join(' | ')} |\n`)[1]
      ?.split('\n\n')[0]
      ?.split('\n') ?? [];
  return Object.fromEntries(
    lines.slice(1).flatMap((line) => {
      const [digits = '', ...cells] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const shown = cells.map((cell, n) => (cell === 'the same' ? (cells[n - 1] ?? '') : cell));
      return digits.split(', ').map((each) => [each, shown] as const);
    }),
  );
}

const THROTTLED = 'throttled three times, then DELIVERED';
const OPEN = 'no receipt: it stays open';
const after = (ms: number): string => `after ${ms / 1000} s`;
/** Deliveries within this time are not called late. */
const USUAL_MS = 1500;

function statusInReceipt({ stat, err }: smsc.ReceiptStep): string | undefined {
  const text = `id:1 sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:${stat} err:${err} text:`;
  const message = { esmClass: 4, dataCoding: 0, shortMessage: Buffer.from(text), tlvs: new Map() };
  return readReceipt({ ...message, source: '390000', destination: 'Acme' })?.state;
}

function describeSms({ refuse: refusal, refuseTimes, receipts, early, doubled }: smsc.Outcome): string {
  if (refusal !== undefined && refuseTimes === 3 && statusClass(STATUS[refusal]) === 'throttle') return THROTTLED;
  if (refusal === 'ESME_RINVDSTADR')
    return 'UNDELIVERABLE at once: the carrier rejects the number, and the price is returned';
  if (early === true) return 'DELIVERED, with a receipt before the response to the submit';
  if (doubled === true) return 'DELIVERED, with every receipt twice';
  const states = (receipts ?? [smsc.DELIVERED]).map(statusInReceipt);
  const last = states.at(-1);
  if (last === undefined) return 'no receipt: it stays ACCEPTED';
  if (last === 'UNKNOWN') return 'a receipt that says UNKNOWN: it stays ACCEPTED';
  if (states.length > 1) return `${last}, after an intermediate receipt`;
  return `${last}, by a receipt${last === 'REJECTED' ? ': it is charged' : ''}`;
}

function describeRcs({ refuse: refusal, refuseTimes, steps = rbm.DELIVERED }: rbm.Outcome): string {
  if (refusal !== undefined) {
    const { status, body } = refuse(faultOf(refusal)) as { status: number; body: object };
    const headers = { 'content-type': 'application/json' };
    const verdict = verdictOf({ kind: 'answered', status, headers, body: Buffer.from(JSON.stringify(body)) });
    return verdict.act === 'refuse'
      ? verdict.status
      : verdict.act === 'throttled' && refuseTimes === 3
        ? THROTTLED
        : verdict.act;
  }
  const events = steps.map(({ event }) => event);
  const [first] = steps;
  if (first === undefined) return OPEN;
  if (first.event === 'TTL_EXPIRATION_REVOKED') return `EXPIRED ${after(first.afterMs)}`;
  if (events.includes('READ')) return 'DELIVERED and read';
  if (events.includes('UNSUBSCRIBE')) return 'DELIVERED, then the person opts out';
  return first.afterMs > USUAL_MS ? `DELIVERED ${after(first.afterMs)}` : 'DELIVERED';
}

const TOO_MANY = 130429;

function describeWhatsapp({ refuse: refusal, refuseTimes, steps = graph.DELIVERED }: graph.Outcome): string {
  if (refusal === TOO_MANY && refuseTimes === 3) return THROTTLED;
  if (refusal !== undefined) return statusOfFailure(refusal);
  const failure = steps.find(({ status }) => status === 'failed');
  if (failure) return statusOfFailure(failure.code ?? null);
  if (steps.some(({ status }) => status === 'read')) return 'DELIVERED and read';
  const delivery = steps.find(({ status }) => status === 'delivered');
  if (!delivery) return OPEN;
  return delivery.afterMs > USUAL_MS ? `DELIVERED ${after(delivery.afterMs)}` : 'DELIVERED';
}

test('the table of SMS numbers in docs/api.md lists all special numbers, with what the simulator does', () => {
  const { outcomes } = smsc.defaultScript();
  const expected = Object.entries(outcomes).map(([digits, outcome]) => [digits, [describeSms(outcome)]]);
  expect(tableOf('SMS')).toEqual(Object.fromEntries(expected));
});

test('the table of RCS and WhatsApp numbers in docs/api.md says what the simulators do', () => {
  const table = tableOf('RCS', 'WhatsApp');
  const expected = Object.keys(table).map((digits) => [
    digits,
    [
      describeRcs(rbm.outcomeFor(rbm.defaultScript(), digits)),
      describeWhatsapp(graph.outcomeFor(graph.defaultScript(), digits)),
    ],
  ]);
  expect(table).toEqual(Object.fromEntries(expected));
});

test('the numbers that docs/api.md does not list are those of rare faults, and it names their range', () => {
  const listed = new Set(Object.keys(tableOf('RCS', 'WhatsApp')));
  const scripts = [rbm.defaultScript().outcomes, graph.defaultScript().outcomes];
  const others = scripts.flatMap((outcomes) => Object.keys(outcomes)).filter((digits) => !listed.has(digits));
  const [first, last] = [others.sort()[0], others.sort().at(-1)];
  expect(SECTION.replaceAll('\n', ' ')).toContain(`those that end in ${first} to ${last} show rare faults`);
});
