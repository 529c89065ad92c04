import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { type Connection, findConnection } from './sql.ts';

export const unknownConnection = (name: string): AppError =>
  new AppError('not_found', { message: `There is no connection ${name}` });

/** Returns the connection with this name. Errors: 404. */
export async function connectionNamed(db: Db, name: string): Promise<Connection> {
  const connection = await findConnection(db, { name });
  if (!connection) throw unknownConnection(name);
  return connection;
}
