import { Type } from 'typebox';
import { CONNECTION_KINDS } from '../../../network/connections/kinds/kinds.ts';
import type { App } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { OPERATOR_PATH } from '../fields.ts';
import { KindOut, toKind } from './schema.ts';

/** Registers the list of the kinds of connections, with the fields of a form for a new connection. */
export function kindRoutes(app: App): void {
  app.get(`${OPERATOR_PATH}/connection-kinds`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: connections'],
      operationId: 'operatorListConnectionKinds',
      summary: 'List the kinds of connections and their settings',
      response: { 200: Type.Object({ data: Type.Array(KindOut) }) },
    },
    handler: async () => ({ data: CONNECTION_KINDS.map(toKind) }),
  });
}
