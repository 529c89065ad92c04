import { isRecord } from '../lib/is-record.ts';

/**
 * The example request of one operation and the response of a running program, with made-up values instead of those that
 * are secret or differ each time. The body of a request is not here: it is in the route's own schema.
 */
export type RecordedExample = {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** The fields of a multipart/form-data body; a file is represented by its content. */
  readonly form?: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** Absent if the response has no body. */
  readonly answer?: unknown;
  /** The error (400) of a request with an empty body. */
  readonly refusal?: object;
};

/** Recorded examples of each operation, by its operationId. */
export type RecordedExamples = Readonly<Record<string, RecordedExample>>;

/** Adds recorded examples to operations of an OpenAPI description: of parameters, forms and responses. */
export function addRecorded(operations: readonly unknown[], recorded: RecordedExamples): void {
  for (const operation of operations) {
    const example = isRecord(operation) ? recorded[String(operation['operationId'])] : undefined;
    if (!isRecord(operation) || example === undefined) continue;
    const { path = {}, query = {}, form, status, answer, refusal } = example;
    for (const parameter of listOf(operation['parameters'])) {
      const value = parameter['in'] === 'path' ? path[String(parameter['name'])] : query[String(parameter['name'])];
      if (value !== undefined) parameter['example'] ??= asParameter(value, parameter['schema']);
    }
    setExample(operation['requestBody'], form);
    const responses = isRecord(operation['responses']) ? operation['responses'] : {};
    setExample(responses[status], answer);
    setExample(responses[400], refusal);
  }
}

/** A program may build the path or the query from a number although the API reads text. */
const asParameter = (value: unknown, schema: unknown): unknown =>
  isRecord(schema) && schema['type'] === 'string' ? String(value) : value;

const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Sets the example of the only content of a request body or a response. */
function setExample(holder: unknown, example: unknown): void {
  const content = isRecord(holder) && isRecord(holder['content']) ? holder['content'] : {};
  const [media] = Object.values(content);
  if (example !== undefined && isRecord(media)) media['example'] ??= example;
}
