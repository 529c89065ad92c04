// Writes docs/limits.md from the constants and settings that limit-table.ts names; --check fails if the file is out of date.
// It also fails when a constant has gone, so that the page states no limit that the program has not.
import { checkOrWrite } from './generated-file.ts';
import { LIMITS, type LimitGroup } from './limit-table.ts';

const section = ({ title, about, limits }: LimitGroup): string =>
  `## ${title}\n\n${about === '' ? '' : `${about}\n\n`}| What | Limit | Beyond it, or who changes it |\n|---|---|---|\n` +
  `${limits.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;

const TEXT = `# Limits

This page is generated (\`node scripts/generate-limits.ts\`) from the constants of the sources and the settings. A limit without
a setting or a command is fixed.

Limits of carriers are those of your contract: window, binds and rate of each connection are [its settings](carriers.md). What a
machine can do is in [sizing](operating.md#sizing). Lengths of single fields are in [the API](operations.md).

${LIMITS.map(section).join('\n')}`;

await checkOrWrite(new URL('../docs/limits.md', import.meta.url), TEXT);
