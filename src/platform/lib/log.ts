type LogLine = (fields: object, message: string) => void;

/** The part of a logger that most code needs; pino's logger has it. */
export type Log = { readonly debug: LogLine; readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine };

const nothing: LogLine = () => {};

/** A logger that discards everything. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
