type LogLine = (fields: object, message: string) => void;

/** What the engine needs of a logger; pino's fits. */
export type Log = { readonly debug: LogLine; readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine };

const nothing: LogLine = () => {};

export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
