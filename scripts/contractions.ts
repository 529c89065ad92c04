/** What the previous release may still use, or may not know that it has to fill in. */
const CONTRACTING =
  /\bDROP\s+(?!INDEX\b|CONSTRAINT\b|POLICY\b|NOT\s+NULL\b)|\bRENAME\b|\bSET\s+NOT\s+NULL\b|\b(SET\s+DATA\s+)?TYPE\s+\w|\bREVOKE\b|\bTRUNCATE\b/i;
/** How statements begin that may remove something, besides ALTER TABLE: not that of a function's usual rights. */
const REMOVING = /^(DROP|TRUNCATE|ALTER\s(?!INDEX)|REVOKE\s(?!.*\sON\sFUNCTION\s))/i;
const NEW_COLUMN =
  /\bADD\s+(?!CONSTRAINT\b|CHECK\b|UNIQUE\b|PRIMARY\b|FOREIGN\b|GENERATED\b)(COLUMN\s+)?(IF\s+NOT\s+EXISTS\s+)?\w+/i;
const ADDED_CONSTRAINT = /\bADD\s+(CHECK\b|UNIQUE\b|PRIMARY\b|FOREIGN\b|CONSTRAINT\s+(\w+))/i;
const ALTERED = /^ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?([\w.]+)/i;
const UNIQUE_INDEX = /^CREATE\s+UNIQUE\s+INDEX\s+.*?\bON\s+(?:ONLY\s+)?([\w.]+)/i;
const CREATED = /\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.]+)/gi;
const DROPPED_CONSTRAINT = /\bDROP\s+CONSTRAINT\s+(?:IF\s+EXISTS\s+)?(\w+)/gi;

/**
 * Returns the statements of a migration that the previous release does not work with while both run: those that remove,
 * rename or narrow something, or demand what it does not write. Statements about tables that the migration itself creates
 * are not among them, nor constraints that it replaces: a list of allowed values that becomes longer.
 *
 * It reads the text, not its meaning: an index that an ON CONFLICT of the previous release needs, a function with another
 * body, or rows that a statement changes are found by the test that runs that release (test/flows/rolling-upgrade).
 */
export function listContractions(migration: string): string[] {
  const text = migration.replace(/--.*$/gm, ' ').replace(/\/\*[\s\S]*?\*\//g, ' ');
  const created = new Set([...text.matchAll(CREATED)].map(([, name]) => name));
  const replaced = new Set([...text.matchAll(DROPPED_CONSTRAINT)].map(([, name]) => name));
  const isOfNewTable = (statement: string): boolean =>
    created.has(ALTERED.exec(statement)?.[1] ?? UNIQUE_INDEX.exec(statement)?.[1]);
  return text
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => contracts(statement, replaced) && !isOfNewTable(statement));
}

function contracts(statement: string, replaced: ReadonlySet<string | undefined>): boolean {
  if (UNIQUE_INDEX.test(statement)) return true;
  if (!ALTERED.test(statement)) return REMOVING.test(statement) && CONTRACTING.test(statement);
  return actionsOf(statement).some((action) => {
    const constraint = ADDED_CONSTRAINT.exec(action);
    if (constraint) return !replaced.has(constraint[2]);
    const demands = NEW_COLUMN.test(action) && /\bNOT NULL\b/i.test(action) && !/\b(DEFAULT|GENERATED)\b/i.test(action);
    return demands || CONTRACTING.test(action);
  });
}

/** The parts of an ALTER TABLE, which commas separate, except those between brackets. */
function actionsOf(statement: string): string[] {
  const actions = [''];
  let depth = 0;
  for (const letter of statement) {
    if (letter === '(') depth++;
    if (letter === ')') depth--;
    if (letter === ',' && depth === 0) actions.push('');
    else actions[actions.length - 1] += letter;
  }
  return actions;
}
