import { sabotage } from './replace.ts';

// As programs do that decode where nobody catches: a PDU that cannot be read ends the process.
sabotage([
  {
    file: 'src/carriers/smpp/link.ts',
    find: 'handlers.broken(`${pdu.reason} (command_id 0x${pdu.commandId.toString(16)})`);',
    put: 'throw new Error(pdu.reason);',
  },
]);
