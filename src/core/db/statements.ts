/**
 * The text of a statement: the strings around its values. Statements of the same template that contain the same parts
 * share it, so that a batch of single sends only collects values: to compose its ten statements of 3 kB each time took
 * a twentieth of the gateway's CPU time and a tenth of its garbage.
 */
class Shape {
  readonly strings: readonly string[];
  #text: string | undefined;

  constructor(strings: readonly string[]) {
    this.strings = strings;
  }

  /** The text in PostgreSQL's form, with $1 for the first value. */
  get text(): string {
    return (this.#text ??= this.strings.reduce((text, piece, i) => `${text}$${i}${piece}`));
  }
}

/** A statement or a part of one, and its values. */
export class Sql {
  readonly shape: Shape;
  readonly values: unknown[];
  /** The server may keep its plan for all values. */
  hasOnePlan = false;

  constructor(shape: Shape, values: unknown[]) {
    this.shape = shape;
    this.values = values;
  }

  get text(): string {
    return this.shape.text;
  }

  /** Makes a statement of the same text with other values. */
  with(values: unknown[]): Sql {
    return new Sql(this.shape, values);
  }
}

/**
 * The parts of a template up to one of them, and the shape if that is the last. A part that is made for one statement
 * only is not kept: its steps are found by its shape alone, and go with it.
 */
type Step = { shape: Shape | null; afterValue: Step | null; afterPart: WeakMap<Shape, Step> | null };

const newStep = (): Step => ({ shape: null, afterValue: null, afterPart: null });

function stepAfter(step: Step, part: unknown): Step {
  if (!(part instanceof Sql)) return (step.afterValue ??= newStep());
  const known = step.afterPart?.get(part.shape);
  if (known) return known;
  const next = newStep();
  (step.afterPart ??= new WeakMap()).set(part.shape, next);
  return next;
}

const A_VALUE = ['', ''];

/** Makes the strings of nested statements part of those around them. */
function flatten(strings: readonly string[], parts: readonly unknown[]): string[] {
  const flat: string[] = [];
  let open = strings[0] ?? '';
  for (const [i, part] of parts.entries()) {
    const inner = part instanceof Sql ? part.shape.strings : A_VALUE;
    for (const [n, piece] of inner.entries()) {
      if (n > 0) {
        flat.push(open);
        open = '';
      }
      open += piece;
    }
    open += strings[i + 1] ?? '';
  }
  flat.push(open);
  return flat;
}

const templates = new WeakMap<readonly string[], Step>();

/** Composes a tagged template: values become parameters, nested statements become part of the text. */
export function compose(template: readonly string[], parts: readonly unknown[]): Sql {
  let step = templates.get(template);
  if (!step) templates.set(template, (step = newStep()));
  for (const part of parts) step = stepAfter(step, part);
  return new Sql((step.shape ??= new Shape(flatten(template, parts))), valuesOf(parts));
}

function valuesOf(parts: readonly unknown[]): unknown[] {
  const values: unknown[] = [];
  for (const part of parts)
    if (!(part instanceof Sql)) values.push(part);
    else for (const value of part.values) values.push(value);
  return values;
}

/**
 * Joins parts. The text is put together each time, since a list may have any length: hot statements do without, or join
 * once.
 */
export function join(parts: readonly Sql[], separator = ','): Sql {
  const strings = ['', ...Array<string>(parts.length - 1).fill(separator), ''];
  return new Sql(new Shape(flatten(strings, parts)), valuesOf(parts));
}

/** Puts a text into a statement as it is; never one that comes from outside. */
export const raw = (text: string): Sql => new Sql(new Shape([text]), []);
