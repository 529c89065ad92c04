import { newId } from '../../platform/lib/ids.ts';
import { createTokenBucket, type TokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import { getMember, parseJson, getText } from '../../carriers/json.ts';
import type { SandboxAnswer } from '../http/server.ts';
import { type Fault, faultOf, invalid, ok, refuse } from './answer.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import type { LedgerWriter } from './ledger.ts';
import { FEATURES, outcomeFor, type RbmScript } from './script.ts';
import { faultOfBatch, faultOfFile } from './validate.ts';

/**
 * The functions of agents other than sending: reachability, testers and files (RBM API, authorization and
 * capabilities).
 */
export type Agents = {
  /** Returns an agent's id in the form of the options; it may be given with or without `@rbm.goog`. */
  normalizeId(agentId: string): string;
  /** Returns null when the agent belongs to this account and may write to the number. */
  faultOf(agentId: string, phone: string): Fault | null;
  /** Returns null when the agent is within its rate, and counts the message. */
  faultOfRate(agentId: string): Fault | null;
  capabilities(agentId: string, phone: string): SandboxAnswer;
  batch(agentId: string, body: Buffer): SandboxAnswer;
  addTester(agentId: string, phone: string): SandboxAnswer;
  createFile(body: Buffer): SandboxAnswer;
  upload(bytes: Buffer): SandboxAnswer;
  hasFile(name: string): boolean;
};

const FILE_LIFE_MS = 60 * 24 * 3_600_000;
const MAX_FILES = 10_000;
const MAX_FILE_BYTES = 100 << 20;
/** The network's limit per agent and day; a simulator rarely runs longer. */
const MAX_TESTERS_PER_AGENT = 20;
const SAMPLE_SIZE = 75;

/** Creates the agents of one account. */
export function createAgents(known: readonly string[], script: RbmScript, ledger: LedgerWriter): Agents {
  const testers = new Map<string, Set<string>>();
  const files = createRecentMap<number>(() => MAX_FILES);
  const rates = new Map<string, TokenBucket>();
  const batches = createTokenBucket(script.batchesPerMinute / 60);
  const reaches = (phone: string): boolean => outcomeFor(script, phone).refuse !== 'NOT_FOUND';

  function faultOfAgent(agentId: string): Fault | null {
    return known.includes(agentId) ? null : faultOf('PERMISSION_DENIED');
  }

  function keepFile(): SandboxAnswer {
    const name = `files/${newId()}`;
    files.set(name, Date.now() + FILE_LIFE_MS);
    return ok({ name });
  }

  return {
    normalizeId: (agentId) => known.find((each) => bare(each) === bare(agentId)) ?? agentId,
    faultOf(agentId, phone) {
      const fault = faultOfAgent(agentId);
      if (fault || !script.unlaunched.includes(agentId) || testers.get(agentId)?.has(phone)) return fault;
      return faultOf('PERMISSION_DENIED', 'The agent is not launched, and the user is not one of its testers.');
    },
    faultOfRate(agentId) {
      if (script.tps === 0) return null;
      const bucket = rates.get(agentId) ?? createTokenBucket(script.tps);
      rates.set(agentId, bucket);
      if (bucket.perSecond() !== script.tps) bucket.setRate(script.tps);
      if (!bucket.ready()) return faultOf('RESOURCE_EXHAUSTED');
      bucket.take(1);
      return null;
    },
    capabilities(agentId, phone) {
      ledger.count('capabilityChecks');
      const fault = this.faultOf(agentId, phone);
      if (fault) return refuse(fault);
      return reaches(phone)
        ? ok({ features: outcomeFor(script, phone).features ?? FEATURES })
        : refuse(faultOf('NOT_FOUND'));
    },
    batch(agentId, body) {
      ledger.count('batchChecks');
      const json = parseJson(body.toString());
      const fault =
        faultOfBatch(json, script.batchMinimum) ?? faultOfAgent(this.normalizeId(getText(json, 'agentId') || agentId));
      if (fault) return refuse(fault);
      if (!batches.ready()) return refuse(faultOf('RESOURCE_EXHAUSTED'));
      batches.take(1);
      return ok(reachabilityOf(json, reaches));
    },
    addTester(agentId, phone) {
      const fault = faultOfAgent(agentId);
      if (fault) return refuse(fault);
      const all = testers.get(agentId) ?? new Set();
      if (all.size >= MAX_TESTERS_PER_AGENT) return refuse(faultOf('RESOURCE_EXHAUSTED'));
      testers.set(agentId, all.add(phone));
      return ok({ name: `phones/${phone}/testers`, inviteStatus: 'ACCEPTED' });
    },
    createFile(body) {
      const fault = faultOfFile(parseJson(body.toString()));
      return fault ? refuse(fault) : keepFile();
    },
    upload: (bytes) => (bytes.length > 0 && bytes.length <= MAX_FILE_BYTES ? keepFile() : refuse(invalid('No media'))),
    hasFile: (name) => (files.get(name) ?? 0) > Date.now(),
  };
}

const bare = (agentId: string): string => agentId.replace(/@rbm\.goog$/, '');

function reachabilityOf(json: unknown, reaches: (phone: string) => boolean): object {
  const users = getMember(json, 'users');
  const numbers: string[] = Array.isArray(users) ? [...new Set(users)] : [];
  const reachableUsers = numbers.filter(reaches);
  const share = numbers.length === 0 ? 0 : reachableUsers.length / numbers.length;
  return {
    reachableUsers,
    totalRandomSampleUserCount: SAMPLE_SIZE,
    reachableRandomSampleUserCount: Math.round(SAMPLE_SIZE * share),
  };
}
