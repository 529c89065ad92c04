import { isUuid } from '../../platform/lib/ids.ts';
import { parseJson } from '../../carriers/json.ts';
import type { SandboxAnswer, SandboxRequest } from '../http/server.ts';
import type { Agents } from './agents.ts';
import { faultOf, invalid, ok, refuse } from './answer.ts';
import type { Inbox } from './inbox.ts';
import type { Messages } from './messages.ts';
import type { Random } from '../smsc/random.ts';
import type { RbmScript } from './script.ts';
import { faultOfEvent } from './validate.ts';

type Answer = SandboxAnswer | Promise<SandboxAnswer>;

/** Creates the handler of all authorised API requests (RBM API, authorization). */
export function createRoutes(deps: {
  readonly script: RbmScript;
  readonly random: Random;
  readonly agents: Agents;
  readonly inbox: Inbox;
  readonly messages: Messages;
}): (request: SandboxRequest) => Answer {
  const { script, random, agents, inbox, messages } = deps;

  function serve(request: SandboxRequest): Answer {
    const { method, path, query, body } = request;
    const agentId = agents.normalizeId(query.get('agentId') ?? '');
    const phone = /^\/v1\/phones\/([^/]+)\/(\w+)(?:\/([^/]+))?$/.exec(path);
    if (phone) return servePhone({ method, agentId, phone, query, body });
    if (method === 'POST' && path === '/v1/users:batchGet') return agents.batch(agentId, body);
    if (method === 'POST' && path === '/v1/files') return agents.createFile(body);
    if (method === 'POST' && path === '/upload/v1/files') return agents.upload(body);
    return refuse(faultOf('NOT_FOUND'));
  }

  function servePhone(request: PhoneRequest): Answer {
    const { method, agentId, query, body } = request;
    const [, encoded = '', collection = '', id] = request.phone;
    const phone = decodeNumber(encoded);
    if (phone === null) return refuse(invalid('The phone number must be in E.164 format.'));
    switch (`${method} ${collection}${id === undefined ? '' : '/id'}`) {
      case 'POST agentMessages':
        return inbox.create({ agentId, phone, messageId: query.get('messageId') ?? '', body });
      case 'DELETE agentMessages/id':
        return revoke(agentId, phone, id ?? '');
      case 'POST agentEvents':
        return takeEvent(query.get('eventId') ?? '', body);
      case 'GET capabilities':
        if (!isUuid(query.get('requestId') ?? '')) return refuse(invalid('requestId must be a UUID.'));
        return agents.capabilities(agentId, phone);
      case 'POST testers':
        return agents.addTester(agentId, phone);
      default:
        return refuse(faultOf('NOT_FOUND'));
    }
  }

  function revoke(agentId: string, phone: string, messageId: string): SandboxAnswer {
    const revoked = messages.revoke(agentId, phone, messageId);
    if (random.chance(script.dropRevokeShare)) return 'silent';
    return revoked || script.revoke === 'reference' ? ok({}) : refuse(faultOf('NOT_FOUND'));
  }

  return serve;
}

type PhoneRequest = Pick<SandboxRequest, 'method' | 'query' | 'body'> & {
  readonly agentId: string;
  readonly phone: RegExpExecArray;
};

/** Returns null when the number is not in E.164. */
function decodeNumber(encoded: string): string | null {
  const number = encoded.replace(/^%2B/i, '+');
  return /^\+[1-9]\d{6,14}$/.test(number) ? number : null;
}

function takeEvent(eventId: string, body: Buffer): SandboxAnswer {
  const event = parseJson(body.toString());
  const fault = isUuid(eventId) ? faultOfEvent(event) : invalid('eventId must be a UUID.');
  return fault ? refuse(fault) : ok({ ...Object(event), name: eventId });
}
