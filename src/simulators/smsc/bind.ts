import type { PduOf } from '../../carriers/smpp/pdu.ts';
import { STATUS } from '../../carriers/smpp/status.ts';
import type { SandboxScript } from './script.ts';

/** Any bind request. */
export type Bind = PduOf<'bind_transmitter'> | PduOf<'bind_receiver'> | PduOf<'bind_transceiver'>;

const MAX_SYSTEM_ID_LENGTH = 15;
const MAX_SYSTEM_TYPE_LENGTH = 12;
const VERSIONS: ReadonlySet<number> = new Set([0x33, 0x34, 0x50]);

/** Returns the status for a bind on a connection that is not bound yet; 0 when the bind is valid. */
export function bindStatus(script: SandboxScript, pdu: Bind): number {
  if (script.bindRefusal) return STATUS[script.bindRefusal];
  if (!VERSIONS.has(pdu.interfaceVersion)) return STATUS.ESME_RBINDFAIL;
  if (!isSystemId(script, pdu.systemId)) return STATUS.ESME_RINVSYSID;
  if (!isPassword(script, pdu.password)) return STATUS.ESME_RINVPASWD;
  if (pdu.systemType.length > MAX_SYSTEM_TYPE_LENGTH) return STATUS.ESME_RINVSYSTYP;
  return STATUS.ESME_ROK;
}

function isSystemId(script: SandboxScript, systemId: string): boolean {
  if (systemId.length === 0 || systemId.length > MAX_SYSTEM_ID_LENGTH) return false;
  return script.systemId === undefined || script.systemId === systemId;
}

function isPassword(script: SandboxScript, password: string): boolean {
  if (script.maxPasswordLength > 0 && password.length > script.maxPasswordLength) return false;
  return script.password === undefined || script.password === password;
}
